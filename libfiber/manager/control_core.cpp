// SPDX-License-Identifier: Apache-2.0
#include "libfiber/manager/control_core.hpp"

#include "libfiber/manager/ref_core.hpp"

namespace fiber::detail {

std::shared_ptr<actors::ObjectHandle> ControlCore::create(PackedItem recipe) {
  auto asked = ask(actors::AskKind::call, std::move(recipe), Results::forever);
  auto& answer = asked->answer;
  if (answer.what == actors::Answer::closed)
    fail_closed();
  std::shared_ptr<actors::ObjectHandle> made;
  if (answer.what == actors::Answer::value && !answer.kept.empty())
    made = place_.objects->handle(answer.kept.front()->held_id());
  if (!made) {
    answer.kept.clear();
    auto outcome =
      outcome_of_call(*place_.objects, id(), asked->request, std::move(answer));
    if (outcome.error)
      std::rethrow_exception(outcome.error);
    fail_closed();
  }
  return made;
}

} // namespace fiber::detail
