// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <memory>
#include <utility>

#include <unistd.h>

#include "actors/driver/backend_actor.hpp"
#include "base/log.hpp"
#include "libfiber/observer/socket_folder.hpp"
#include "libfiber/observer/trace_requests.hpp"
#include "libfiber/session/name_table.hpp"
#include "libfiber/session/runtime.hpp"

// What a session shows to its observers, and its socket for them.

namespace fiber::detail {

void Runtime::open_view(const std::string& backend, const std::string& session_id) {
  auto name = settings_.name.empty() ? observer::default_name() : settings_.name;
  view_ = std::make_unique<observer::SessionView>(observer::SessionView::Session{
    .name = name,
    .backend = backend,
    .id = session_id,
    .roster = services_->roster,
    .read_output = [this](const std::string& id)
      -> std::shared_ptr<observer::SessionView::OutputReply> {
      auto reply = std::make_shared<observer::SessionView::OutputReply>();
      post(backend_, actors::ReadOutput{id, reply});
      return reply;
    },
    .end_job =
      [this](const std::string& id) {
        post(backend_, actors::EndJob{id, std::chrono::milliseconds(0)});
      }});
  names_->on_published([view = view_.get()](const std::string& series, double value) {
    view->series().add(series.substr(0, observer::SeriesStore::max_name), value);
  });
  if (!settings_.observe)
    return;
  try {
    auto folder = observer::make_session_folder();
    auto traces =
      std::make_shared<observer::TraceRequests>(settings_.trace, [this](auto& trace) {
        for (auto& holder : holders())
          if (auto* subject = dynamic_cast<observer::TraceSubject*>(holder.get()))
            subject->record(trace);
      });
    observers_ = std::make_unique<observer::ObserverSocket>(
      *reactor_, observer::socket_path(folder, name, ::getpid()),
      [view = view_.get(), traces](const nlohmann::json& request) {
        auto op = request.find("op");
        return op != request.end() && *op == "trace" ? traces->answer(request)
                                                     : view->answer(request);
      });
  } catch (const std::exception& error) {
    log().warn(
      "`fiber ps`, `status`, `top` and `stop` can't find this session, and after "
      "a crash `fiber kill` finds nothing to remove: {}",
      error.what());
  }
}

} // namespace fiber::detail
