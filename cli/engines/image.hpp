// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace fiber::cli {

/// Returns the path of a program as the shell would find it: a path, or a name in $PATH.
/// Throws Error.
std::string find_program(const std::string& name);

/// Returns the file of a program. Throws Error if it can't be read.
std::string bytes_of_program(const std::string& path);

/// Returns how the program of a command is called in an image: a path from the root, or a
/// name that is looked up there.
std::string program_in_image(const std::string& program);

/// Returns the build id of an ELF file in memory, in hexadecimal; empty if it has none or
/// is no ELF file.
std::string build_id_of(std::string_view file);
/// The same for a file. Throws Error if it can't be read.
std::string build_id_of_file(const std::string& path);

/// Returns a name for the image of a program: "pi:3f2a96b1c0de", from its file's name and
/// build id.
std::string image_name_for(const std::string& program);

/// Packs a program and the libraries that it links as an image, and returns the archive
/// that engines load. Runs make-image, which an installed Fiber has in share/fiber/image.
/// Throws Error.
std::string make_image(const std::string& name, const std::string& program);

} // namespace fiber::cli
