// SPDX-License-Identifier: Apache-2.0
// Counts the lines of all files of the given ending under a folder, one task per file.
// Tasks get paths, so the files must be where the workers run: on this machine, on a file
// system that all nodes share, or in a volume (docs/how-to/ship-files.md).
#include <algorithm>
#include <fiber/fiber.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

long lines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
}

int main(int argc, char** argv) {
  return fiber::main_guard([&] {
    auto session = fiber::init(argc, argv); // In a worker, this call never returns.
    if (argc != 3) {
      std::cerr << "usage: line_count FOLDER ENDING, such as: line_count . .cpp\n";
      return 2;
    }
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1]))
      if (entry.is_regular_file() && entry.path().extension() == argv[2])
        paths.push_back(entry.path());
    fiber::Pool pool(4);
    auto counts = pool.map(lines, paths);
    std::cout << std::reduce(counts.begin(), counts.end(), 0L) << " lines in "
              << paths.size() << " files\n";
    return 0;
  });
}
