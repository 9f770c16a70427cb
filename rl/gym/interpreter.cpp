// SPDX-License-Identifier: Apache-2.0
#include "rl/gym/interpreter.hpp"

#include <cstdlib>
#include <mutex>

#include <unistd.h>

namespace fiber::rl::python {

namespace py = pybind11;
namespace fs = std::filesystem;

namespace {

std::string version() {
  return std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION);
}

/// The virtual environment that the user chose, and the variable that names it.
struct Choice {
  fs::path folder;
  std::string variable;
};

Choice chosen() {
  for (const char* variable : {"FIBER_RL_VENV", "VIRTUAL_ENV"})
    if (const char* folder = std::getenv(variable); folder && *folder)
      return {fs::absolute(folder), variable};
  return {};
}

void check(PyStatus status) {
  if (PyStatus_Exception(status))
    throw GymError(std::string("Python does not start: ") +
                   (status.err_msg ? status.err_msg : "it does not say why"));
}

/// Starts Python such that the process stays as it is: its locale, its signals.
void initialize(bool with_site) {
  PyPreConfig before;
  PyPreConfig_InitPythonConfig(&before);
  before.configure_locale = 0;
  before.coerce_c_locale = 0;
  before.utf8_mode = 1;
  check(Py_PreInitialize(&before));

  struct Config : PyConfig {
    Config() { PyConfig_InitPythonConfig(this); }
    ~Config() { PyConfig_Clear(this); }
    Config(const Config&) = delete;
    Config& operator=(const Config&) = delete;
  } config;
  config.parse_argv = 0;
  config.install_signal_handlers = 0;
  config.site_import = with_site;
  // Else it looks for its library beside the first python3 in PATH, which may be another.
  check(PyConfig_SetBytesString(&config, &config.program_name, FIBER_PYTHON));
  check(Py_InitializeFromConfig(&config));
}

/// Makes the interpreter one of the virtual environment, as its own python would be.
void enter(const fs::path& folder) {
  auto sys = py::module_::import("sys");
  sys.attr("executable") = (folder / "bin/python").string();
  py::module_::import("site").attr("main")();
}

/// What a thread needs to run Python. Kept from call to call, since Python's thread-local
/// values live in it.
class ThreadState {
public:
  ThreadState() {
    ensured_ = PyGILState_Ensure();
    state_ = PyEval_SaveThread();
  }
  ~ThreadState() {
    // At the end of the program another thread may hold the lock for ever.
    if (gettid() == getpid() || !Py_IsInitialized())
      return;
    PyEval_RestoreThread(state_);
    PyGILState_Release(ensured_);
  }
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;

private:
  PyGILState_STATE ensured_;
  PyThreadState* state_;
};

} // namespace

fs::path site_packages(const fs::path& folder, const std::string& variable) {
  const auto named = variable + "=" + folder.string();
  const auto found = folder / "lib" / ("python" + version()) / "site-packages";
  std::error_code ignored;
  if (fs::exists(folder / "pyvenv.cfg", ignored) && fs::exists(found, ignored))
    return found;
  for (const auto& other : fs::directory_iterator(folder / "lib", ignored))
    if (auto name = other.path().filename().string();
        name.starts_with("python") && name != "python" + version())
      throw GymError(named + " is a virtual environment of Python " + name.substr(6) +
                     ", but this program has Python " + version() + ". " +
                     advice("gymnasium"));
  throw GymError(named + " is no virtual environment: there is no " + found.string() +
                 ". " + advice("gymnasium"));
}

std::string advice(const std::string& packages) {
  return "Make a virtual environment, "
         "python" +
         version() + " -m venv FOLDER && FOLDER/bin/pip install " + packages +
         ", and set FIBER_RL_VENV to FOLDER, or activate it";
}

void start() {
  static std::mutex mutex;
  static pid_t starter = 0;
  std::lock_guard lock(mutex);
  if (Py_IsInitialized()) {
    if (starter != 0 && starter != getpid())
      throw GymError("this process was forked from one whose Python interpreter runs, "
                     "and cannot use it: make the first environment of Gymnasium in the "
                     "process that uses it");
    return;
  }
  const auto choice = chosen();
  if (!choice.folder.empty())
    site_packages(choice.folder, choice.variable);
  initialize(choice.folder.empty());
  starter = getpid();
  struct Unlock {
    ~Unlock() { PyEval_SaveThread(); }
  } unlock; // Other threads may go on when this one is done.
  try {
    if (!choice.folder.empty())
      enter(choice.folder);
  } catch (const py::error_already_set& error) {
    throw GymError("Python does not start: " + traceback_of(error));
  }
}

Lock::Lock() {
  thread_local ThreadState state;
  state_ = PyGILState_Ensure();
}

std::string traceback_of(const py::error_already_set& error) {
  try {
    py::object trace = error.trace(); // There is none if it was no code of Python's.
    if (!trace)
      trace = py::none();
    auto lines = py::module_::import("traceback")
                   .attr("format_exception")(error.type(), error.value(), trace);
    auto text = py::str("").attr("join")(lines).cast<std::string>();
    text.erase(text.find_last_not_of('\n') + 1);
    return text;
  } catch (const py::error_already_set&) {
    return error.what(); // An exception that cannot even be printed.
  }
}

} // namespace fiber::rl::python
