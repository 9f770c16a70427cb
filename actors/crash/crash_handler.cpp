// SPDX-License-Identifier: Apache-2.0
#include "actors/crash/crash_handler.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "actors/crash/crash_report.hpp"
#include "backends/output/crash_line.hpp"
#include "base/build_note.hpp"
#include "base/failure.hpp"

// Code that runs in the handler must neither allocate nor lock: the thread may have
// crashed while it did either.

namespace fiber::actors {
namespace {

constexpr std::array signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr unsigned longest_report =
  5; // Seconds; after that the job ends without a report.
constexpr int output_patience = 1000; // Milliseconds to wait while the pipe is full.
// Limits in characters or bytes, so that every report fits into a line.
constexpr std::size_t longest_build = 32, longest_name = 32, longest_uncaught = 384;

/// The state of the handler.
struct HandlerState {
  pid_t job = 0; ///< This process. Its forks inherit the handlers but must not report.
  int output = -1;
  struct stat pipe {}; ///< What `output` and stderr led to at the start of the job.
  std::terminate_handler terminate = nullptr;
  std::array<char, longest_uncaught> uncaught{};
  std::atomic_flag terminating, crashing;
};
HandlerState state;

// This TLS model never allocates on first use.
[[gnu::tls_model("initial-exec")]] constinit thread_local CrashTask::Task task;

/// A line of text of bounded size; what does not fit is cut off.
class Line {
public:
  void add(char c) {
    if (size_ < text_.size())
      text_[size_++] = c;
  }
  void add(std::string_view text) {
    for (char c : text)
      add(c);
  }
  void number(std::uint64_t n, unsigned base) {
    std::array<char, 20> digits;
    auto at = digits.size();
    do
      digits[--at] = "0123456789abcdef"[n % base];
    while ((n /= base) > 0);
    add(std::string_view(digits.data() + at, digits.size() - at));
  }
  void byte(unsigned char c) {
    add("0123456789abcdef"[c >> 4]);
    add("0123456789abcdef"[c & 15]);
  }
  /// Adds `text` as one word: spaces, separators and bytes that are not ASCII are
  /// escaped.
  void escaped(std::string_view text) {
    for (char c : text)
      if (c > ' ' && c < 127 &&
          std::string_view("%,:+").find(c) == std::string_view::npos)
        add(c);
      else {
        add('%');
        byte(static_cast<unsigned char>(c));
      }
  }
  std::string_view text() const { return {text_.data(), size_}; }

private:
  std::array<char, backends::longest_crash_line> text_;
  std::size_t size_ = 0;
};

/// Finds the object file that has the code at `address`.
dl_find_object object_of(std::uintptr_t address) {
  dl_find_object object{};
  if (_dl_find_object(reinterpret_cast<void*>(address), &object) != 0)
    object.dlfo_link_map = nullptr;
  return object;
}

std::span<const std::byte> build_of(const dl_find_object& object) {
  auto* begin = static_cast<const std::byte*>(object.dlfo_map_start);
  ElfW(Ehdr) header;
  std::memcpy(&header, begin, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return {};
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    std::memcpy(&segment, begin + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type != PT_NOTE)
      continue;
    auto* notes =
      reinterpret_cast<const std::byte*>(object.dlfo_link_map->l_addr + segment.p_vaddr);
    if (auto build = find_build_id({notes, segment.p_memsz}); !build.empty())
      return build;
  }
  return {};
}

/// The return addresses of the crashed stack.
struct Stack {
  std::uintptr_t crashed_at = 0;
  const void* end = nullptr;  ///< Frame of the function that runs the task.
  bool below_handler = false; ///< Whether the walk has left the handler's own frames.
  std::array<std::uintptr_t, max_crash_frames> calls;
  std::size_t size = 0;
};

/// Whether the function with the canonical frame address `top` called the one at `frame`.
/// False on another stack, such as a coroutine's, where addresses can't be compared.
bool is_caller_of(const void* frame, std::uintptr_t top) {
  constexpr std::uintptr_t near = 4096;
  auto at = reinterpret_cast<std::uintptr_t>(frame);
  return frame != nullptr && top >= at && top - at < near;
}

_Unwind_Reason_Code add_call(_Unwind_Context* context, void* to) {
  auto& stack = *static_cast<Stack*>(to);
  int exact = 0;
  auto at = static_cast<std::uintptr_t>(_Unwind_GetIPInfo(context, &exact));
  if (!stack.below_handler) { // A frame of the handler, perhaps on its own stack.
    stack.below_handler = exact != 0 && at == stack.crashed_at;
    if (!stack.below_handler)
      return _URC_NO_REASON;
    stack.size = 0;
  } else if (is_caller_of(stack.end, _Unwind_GetCFA(context))) {
    stack.size -= stack.size > 1 ? 1 : 0; // Drops the function that runs the task.
    return _URC_END_OF_STACK;
  }
  if (at == 0 || stack.size == stack.calls.size())
    return _URC_END_OF_STACK;
  // A return address is after the call, perhaps already in another function.
  stack.calls[stack.size++] = exact != 0 ? at : at - 1;
  return _URC_NO_REASON;
}

/// "objects=BUILD:NAME,.. frames=OBJECT+OFFSET,.."
void add_frames(Line& line, std::span<const std::uintptr_t> calls) {
  std::array<const link_map*, max_crash_objects> objects{};
  std::size_t count = 0;
  line.add(" objects=");
  for (auto call : calls) {
    auto object = object_of(call);
    auto* map = object.dlfo_link_map;
    if (map == nullptr || count == objects.size() ||
        std::find(objects.begin(), objects.begin() + count, map) !=
          objects.begin() + count)
      continue;
    if (count > 0)
      line.add(',');
    objects[count++] = map;
    auto build = build_of(object);
    for (auto byte : build.first(std::min(build.size(), longest_build)))
      line.byte(static_cast<unsigned char>(byte));
    line.add(':');
    std::string_view name = map->l_name == nullptr ? "" : map->l_name;
    name.remove_prefix(name.rfind('/') + 1); // npos + 1 is 0.
    line.escaped(name.substr(0, longest_name));
  }
  line.add(" frames=");
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (i > 0)
      line.add(',');
    auto* map = object_of(calls[i]).dlfo_link_map;
    auto object = std::find(objects.begin(), objects.begin() + count, map);
    if (object == objects.begin() + count) {
      line.add("-+");
      line.number(calls[i], 16);
      continue;
    }
    line.number(static_cast<std::uint64_t>(object - objects.begin()), 10);
    line.add('+');
    line.number(calls[i] - map->l_addr, 16);
  }
}

/// A descriptor of the job's output: a task may have closed or redirected either one, and
/// its number may now be that of a file of the program. -1 if there is none.
int output_now() {
  for (int fd : {state.output, STDERR_FILENO})
    if (struct stat there; ::fstat(fd, &there) == 0 &&
                           there.st_dev == state.pipe.st_dev &&
                           there.st_ino == state.pipe.st_ino)
      return fd;
  return -1;
}

void write_line(std::string_view text) {
  const int output = output_now();
  for (int tries = 0; output >= 0 && tries < 10; ++tries) {
    pollfd ready{output, POLLOUT, 0};
    ::poll(&ready, 1, output_patience / 10);
    if (::write(output, text.data(), text.size()) >= 0 ||
        (errno != EAGAIN && errno != EINTR))
      return;
  }
}

// The program counter and stack pointer of the crashed thread. If the thread has called
// an address without code, step_back() sets them as they were before the call, since the
// stack can't be walked from there.
#if defined(__x86_64__)
struct Registers {
  greg_t& pc;
  greg_t& sp;
};

Registers registers(ucontext_t& context) {
  auto& all = context.uc_mcontext.gregs;
  return {all[REG_RIP], all[REG_RSP]};
}

void step_back(Registers at) {
  auto* top = reinterpret_cast<const greg_t*>(at.sp);
  at.pc = *top - 1; // Within the call instruction.
  at.sp += sizeof *top;
}
#elif defined(__aarch64__)
struct Registers {
  unsigned long long& pc;
  unsigned long long& sp;
  unsigned long long link;
};

Registers registers(ucontext_t& context) {
  auto& all = context.uc_mcontext;
  constexpr int link_register = 30;
  return {all.pc, all.sp, all.regs[link_register]};
}

void step_back(Registers at) {
  at.pc = at.link - 1; // Within the call instruction.
}
#else
#error "Where does ucontext_t keep the program counter and the stack pointer here?"
#endif

void write_report(int signal, const siginfo_t& info, std::uintptr_t sp,
                  std::span<const std::uintptr_t> calls) {
  Line line;
  line.add(backends::crash_mark);
  line.add("signal=");
  line.number(static_cast<std::uint64_t>(signal), 10);
  line.add(" address=");
  if (info.si_code > 0 && info.si_code < SI_KERNEL)
    line.number(reinterpret_cast<std::uintptr_t>(info.si_addr), 16);
  else
    line.add('-');
  line.add(" sp=");
  line.number(sp, 16);
  line.add(" slot=");
  if (task.frame != nullptr)
    line.number(task.slot, 10);
  else
    line.add('-');
  line.add(" seq=");
  line.number(task.seq, 10);
  line.add(" uncaught=");
  if (signal == SIGABRT)
    line.escaped(state.uncaught.data());
  add_frames(line, calls);
  line.add(" end\n");
  write_line(line.text());
}

void on_crash(int signal, siginfo_t* info, void* context) {
  auto before = errno;
  if (::getpid() == state.job) {
    if (state.crashing.test_and_set())
      for (;;) // The thread that crashed first ends the job.
        ::pause();
    // Ends the job if the report hangs in what has crashed.
    std::signal(SIGALRM, SIG_DFL);
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    ::pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
    ::alarm(longest_report);
    auto at = registers(*static_cast<ucontext_t*>(context));
    auto pc = at.pc, sp = at.sp;
    Stack stack;
    stack.crashed_at = static_cast<std::uintptr_t>(pc);
    stack.end = task.frame;
    auto top = static_cast<std::uintptr_t>(sp);
    // Report without the stack first: it may be too broken to be walked.
    write_report(signal, *info, top, std::span(&stack.crashed_at, 1));
    if (object_of(stack.crashed_at).dlfo_link_map == nullptr) {
      step_back(at);
      stack.crashed_at = static_cast<std::uintptr_t>(at.pc);
    }
    _Unwind_Backtrace(add_call, &stack);
    at.pc = pc;
    at.sp = sp;
    if (stack.below_handler && stack.size > 0)
      write_report(signal, *info, top, std::span(stack.calls).first(stack.size));
    ::alarm(0);
  }
  // End by the same signal: the instruction faults again after the return, or raise()
  // does.
  std::signal(signal, SIG_DFL);
  ::raise(signal);
  errno = before;
}

/// Keeps the text of the exception for the SIGABRT that follows.
[[noreturn]] void on_terminate() {
  if (!state.terminating.test_and_set() && std::current_exception()) {
    auto failure = capture_failure();
    auto text = failure.type + (failure.what.empty() ? "" : ": ") + failure.what;
    text.resize(std::min(text.size(), state.uncaught.size() - 1));
    std::copy(text.begin(), text.end(), state.uncaught.begin());
  }
  if (state.terminate != nullptr)
    state.terminate();
  std::abort();
}

/// Opens the current stderr, so that the program may redirect it later; non-blocking
/// where that is possible.
int open_output() {
  int own =
    ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_APPEND);
  return own >= 0 ? own : ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
}

} // namespace

void report_crashes() {
  state.job = ::getpid();
  state.output = open_output();
  ::fstat(state.output, &state.pipe);
  state.terminate = std::set_terminate(on_terminate);
  Stack unused;
  _Unwind_Backtrace(add_call, &unused); // Loads the libraries that the unwinder needs.
  struct sigaction ours {};
  ours.sa_sigaction = on_crash;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : signals)
    sigaddset(&ours.sa_mask, signal);
  for (int signal : signals) {
    struct sigaction there {};
    if (::sigaction(signal, nullptr, &there) == 0 && (there.sa_flags & SA_SIGINFO) == 0 &&
        there.sa_handler == SIG_DFL)
      ::sigaction(signal, &ours, nullptr);
  }
}

void report_lost_driver(std::string_view why) {
  Line line;
  line.add(backends::crash_mark);
  line.add("signal=");
  line.number(SIGKILL, 10);
  line.add(" address=- sp=0 slot=- seq=0 uncaught=");
  line.escaped(why.substr(0, longest_uncaught));
  line.add(" objects= frames= end\n");
  write_line(line.text());
}

CrashHandlerStack::CrashHandlerStack() {
  stack_t there{};
  if (::sigaltstack(nullptr, &there) != 0 || (there.ss_flags & SS_DISABLE) == 0)
    return;
  auto size = static_cast<std::size_t>(std::max(0L, ::sysconf(_SC_SIGSTKSZ))) + 64 * 1024;
  memory_ = std::make_unique_for_overwrite<std::byte[]>(size);
  stack_t ours{};
  ours.ss_sp = memory_.get();
  ours.ss_size = size;
  ::sigaltstack(&ours, nullptr);
}

CrashHandlerStack::~CrashHandlerStack() {
  if (!memory_)
    return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
}

CrashTask::CrashTask(std::uint32_t slot, std::uint64_t seq, const void* frame)
  : outer_(task) {
  task = {slot, seq, frame};
}

CrashTask::~CrashTask() {
  task = outer_;
}

} // namespace fiber::actors
