// SPDX-License-Identifier: Apache-2.0
#include "actors/crash/stack_symbols.hpp"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/code_place.hpp"
#include "base/demangle.hpp"
#include "base/never_destroyed.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber {
namespace {

using Frame = actors::CrashReport::Frame;

/// A call. A frame has several where functions were inlined.
struct Call {
  std::string function; ///< Empty if unknown.
  std::string file;     ///< Empty if unknown.
  std::string text;     ///< The call as users see it.
};

/// This process's own objects and their debug information.
class Symbols {
public:
  Symbols() : dwfl_(dwfl_begin(&callbacks)) {
    if (dwfl_)
      dwfl_linux_proc_report(dwfl_.get(), ::getpid());
    if (dwfl_)
      dwfl_report_end(dwfl_.get(), nullptr, nullptr);
  }

  /// Returns the calls at `address`, innermost first; empty if nothing is known.
  std::vector<Call> calls(Dwarf_Addr address) const;

private:
  // Not dwfl_standard_find_debuginfo, which asks debuginfod over the network.
  static constexpr Dwfl_Callbacks callbacks{.find_elf = dwfl_linux_proc_find_elf,
                                            .find_debuginfo =
                                              dwfl_build_id_find_debuginfo,
                                            .section_address = nullptr,
                                            .debuginfo_path = nullptr};
  struct End {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };
  std::unique_ptr<Dwfl, End> dwfl_;
};

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

Call known_call(std::string function, const char* file, int line) {
  if (file == nullptr)
    return {function, "", function};
  auto text = function + " at " + file + ":" + std::to_string(line);
  return {std::move(function), file, std::move(text)};
}

std::string symbol_at(Dwfl_Module* module, Dwarf_Addr address) {
  GElf_Off offset = 0;
  GElf_Sym symbol;
  auto* name =
    dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
  return name == nullptr ? "" : demangle(name);
}

/// Returns the function's name as in the source, with parameter types if they are known.
std::string name_of(Dwarf_Die* function, Dwfl_Module* module, Dwarf_Addr address) {
  Dwarf_Attribute attribute;
  for (auto kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (auto* name = dwarf_formstring(
          dwarf_attr_integrate(function, static_cast<unsigned>(kind), &attribute)))
      return demangle(name);
  // A local function has no linkage name, and the DWARF name of a lambda is "operator()".
  if (dwarf_tag(function) == DW_TAG_subprogram)
    if (auto name = symbol_at(module, address); !name.empty())
      return name;
  auto* name = dwarf_diename(function);
  return name == nullptr ? "" : name;
}

std::optional<Dwarf_Word> number_of(Dwarf_Die* die, unsigned kind) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(die, kind, &attribute), &value) != 0)
    return std::nullopt;
  return value;
}

/// Returns the functions that contain `address`: inlined ones, then the one around them.
std::vector<Dwarf_Die> functions_at(Dwfl_Module* module, Dwarf_Addr address) {
  Dwarf_Addr bias = 0;
  auto* unit = dwfl_module_addrdie(module, address, &bias);
  Dwarf_Die* found = nullptr;
  if (unit == nullptr || dwarf_getscopes(unit, address - bias, &found) <= 0)
    return {};
  std::unique_ptr<Dwarf_Die, Free> scopes(found);
  // dwarf_getscopes() continues outwards from the definition of the inlined function;
  // dwarf_getscopes_die() from its call.
  auto inner = *scopes;
  found = nullptr;
  auto count = dwarf_getscopes_die(&inner, &found);
  if (count <= 0)
    return {};
  scopes.reset(found);
  std::vector<Dwarf_Die> functions;
  for (int i = 0; i < count; ++i) {
    auto tag = dwarf_tag(found + i);
    if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram)
      functions.push_back(found[i]);
  }
  return functions;
}

/// Returns the file and line of the call of an inlined function.
std::pair<const char*, int> call_place(Dwarf_Die* inlined) {
  Dwarf_Die unit;
  Dwarf_Files* files = nullptr;
  auto file = number_of(inlined, DW_AT_call_file);
  if (!file || dwarf_diecu(inlined, &unit, nullptr, nullptr) == nullptr ||
      dwarf_getsrcfiles(&unit, &files, nullptr) != 0)
    return {nullptr, 0};
  return {dwarf_filesrc(files, *file, nullptr, nullptr),
          static_cast<int>(number_of(inlined, DW_AT_call_line).value_or(0))};
}

std::vector<Call> Symbols::calls(Dwarf_Addr address) const {
  auto* module = dwfl_ ? dwfl_addrmodule(dwfl_.get(), address) : nullptr;
  if (module == nullptr)
    return {};
  const char* file = nullptr;
  int line = 0;
  if (auto* place = dwfl_module_getsrc(module, address))
    file = dwfl_lineinfo(place, nullptr, &line, nullptr, nullptr, nullptr);
  std::vector<Call> calls;
  for (auto& function : functions_at(module, address)) {
    auto name = name_of(&function, module, address);
    if (name.empty())
      break;
    calls.push_back(known_call(std::move(name), file, line));
    std::tie(file, line) = call_place(&function);
  }
  if (!calls.empty())
    return calls;
  auto name = symbol_at(module, address);
  if (name.empty())
    return {};
  return {known_call(std::move(name), file, line)};
}

std::string in_object(const Frame& frame) {
  fiber::detail::Classic<std::ostringstream> text;
  if (frame.build.empty())
    text << "0x";
  else
    text << (frame.object.empty() ? program_invocation_short_name : frame.object.c_str())
         << "+0x";
  text << std::hex << frame.offset;
  return text.str();
}

/// Caches names, as tasks of one call tend to crash in the same place.
struct Cache {
  static constexpr std::size_t most = 4096;
  std::mutex mutex;
  std::map<std::pair<std::string, std::uint64_t>, std::vector<Call>> calls;
};

std::vector<Call> calls_of(const std::vector<Frame>& frames) {
  static auto& cache = *never_destroyed<Cache>();
  std::lock_guard lock(cache.mutex);
  if (cache.calls.size() + frames.size() > Cache::most)
    cache.calls.clear();
  std::unique_ptr<Symbols> symbols; // Loaded on demand: they take memory and open files.
  std::vector<Call> all;
  for (auto& frame : frames) {
    auto& calls = cache.calls[{frame.build, frame.offset}];
    if (calls.empty()) {
      if (auto base = loaded_at(frame.build); base && !frame.build.empty()) {
        if (!symbols)
          symbols = std::make_unique<Symbols>();
        calls = symbols->calls(*base + frame.offset);
      }
      if (calls.empty())
        calls = {{"", "", in_object(frame)}};
      else if (calls.back().file.empty())
        calls.back().text += " in " + in_object(frame);
    }
    all.insert(all.end(), calls.begin(), calls.end());
  }
  return all;
}

bool begins_with_one_of(std::string_view text,
                        std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](auto word) { return text.starts_with(word); });
}

/// Whether the function is part of ending the program, between the task's code and the
/// signal.
bool ends_program(std::string_view function) {
  // The prefixes of sanitizers and of glibc's internal names.
  for (std::string_view prefix : {"__interceptor_", "__GI_"})
    if (function.starts_with(prefix))
      function.remove_prefix(prefix.size());
  return function == "abort" ||
         begins_with_one_of(function, {"std::terminate(", "__cxa_throw", "__cxa_rethrow",
                                       "__assert_fail"});
}

/// Whether the call belongs to the library code that calls a task's function. The names
/// of templates are not always complete, so the file counts too.
bool calls_tasks(const Call& call) {
  return call.file.ends_with("/fiber/callable.hpp") ||
         call.file.find("/include/c++/") != call.file.npos ||
         begins_with_one_of(call.function, {"fiber::detail::", "fiber::actors::"});
}

void keep_users(std::vector<Call>& calls) {
  constexpr std::ptrdiff_t deepest = 16;
  auto end = calls.begin() + std::min(deepest, std::ssize(calls));
  auto raised = std::find_if(std::make_reverse_iterator(end), calls.rend(),
                             [](auto& call) { return ends_program(call.function); });
  if (raised != calls.rend() && raised.base() != calls.end())
    calls.erase(calls.begin(), raised.base());
  while (calls.size() > 1 && calls_tasks(calls.back()))
    calls.pop_back();
}

} // namespace

void actors::CrashStack::name() const {
  auto calls = calls_of(frames_);
  keep_users(calls);
  for (auto& call : calls) {
    text_ += (text_.empty() ? "" : "\n") + call.text;
    lines_.push_back(std::move(call.text));
  }
}

const std::string& actors::CrashStack::text() const {
  std::call_once(named_, [this] { name(); });
  return text_;
}

const std::string& actors::CrashStack::below(const std::string& sentence) const {
  constexpr std::size_t most = 3;
  std::call_once(below_made_, [&] {
    text();
    auto whole = sentence;
    for (std::size_t i = 0; i < std::min(most, lines_.size()); ++i)
      whole += "\n  " + lines_[i];
    below_ = std::move(whole);
  });
  return below_;
}

} // namespace fiber
