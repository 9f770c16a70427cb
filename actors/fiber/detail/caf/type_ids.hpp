// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <caf/config.hpp>

#if CAF_VERSION >= 1800

#include <caf/type_id.hpp>

namespace fiber {
struct ChildInfo;
}
namespace fiber::backends {
struct JobEvent;
}
namespace fiber::actors {
enum class ExitKind : std::uint8_t;
struct AlarmOver;
struct AskOutput;
struct AskProcessLogs;
struct AskReport;
struct AskStats;
struct Autoscale;
struct AwaitWorkers;
struct CancelCall;
struct CancelJob;
struct CancelProcess;
struct ChildStarted;
struct ClosePool;
struct CloseTick;
struct CreateJob;
struct EndCall;
struct EndJob;
struct EndManager;
struct EndNode;
struct EndProcess;
struct EndsAre;
struct ForgiveFailures;
struct FromLink;
struct GiveUpWaiting;
struct GraceOver;
struct JobCreated;
struct JobEnded;
struct JobFailed;
struct JobOutput;
struct JobOver;
struct KillNode;
struct LimitRestarts;
struct LingerOver;
struct LingerTick;
struct LinkArrived;
struct LinkClosed;
struct LinkSilent;
struct ListChildren;
struct MemberEnded;
struct MemberOutcome;
struct NodeCreated;
struct NodeDraining;
struct NodeFrame;
struct NodeHandedBack;
struct NodeLost;
struct NodeOverdue;
struct NodeResults;
struct NodeShare;
struct NodeUp;
struct ObjectAsk;
struct ObjectFreed;
struct ObjectsFailed;
struct ObjectsUp;
struct ProbeTick;
struct ProcessGone;
struct ProvenTick;
struct ReadOutput;
struct Resize;
struct RoomTick;
struct ScaleTick;
struct ShortageTick;
struct SpeculateTick;
struct StartAttempt;
struct StartChild;
struct StartFinished;
struct StartJob;
struct StartTick;
struct StartWorkers;
struct StealTick;
struct StopChild;
struct StopSupervisor;
struct Submit;
struct TellWaits;
struct TerminatePool;
struct TraceTasks;
struct WatchJob;
} // namespace fiber::actors

// The types in the messages of Fiber's own actors. Those of a program begin with
// caf::first_custom_type_id, 200.
CAF_BEGIN_TYPE_ID_BLOCK(fiber_actors, 1000)
CAF_ADD_TYPE_ID(fiber_actors, (fiber::ChildInfo))
CAF_ADD_TYPE_ID(fiber_actors, (std::vector<fiber::ChildInfo>))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::backends::JobEvent))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::ExitKind))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::AlarmOver))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::AskOutput))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::AskProcessLogs))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::AskReport))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::AskStats))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::Autoscale))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::AwaitWorkers))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::CancelCall))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::CancelJob))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::CancelProcess))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::ChildStarted))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::ClosePool))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::CloseTick))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::CreateJob))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::EndCall))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::EndJob))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::EndManager))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::EndNode))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::EndProcess))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::EndsAre))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::ForgiveFailures))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::FromLink))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::GiveUpWaiting))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::GraceOver))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::JobCreated))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::JobEnded))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::JobFailed))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::JobOutput))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::JobOver))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::KillNode))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::LimitRestarts))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::LingerOver))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::LingerTick))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::LinkArrived))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::LinkClosed))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::LinkSilent))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::ListChildren))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::MemberEnded))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::MemberOutcome))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::NodeCreated))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::NodeDraining))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::NodeFrame))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::NodeHandedBack))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::NodeLost))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::NodeOverdue))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::NodeResults))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::NodeShare))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::NodeUp))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::ObjectAsk))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::ObjectFreed))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::ObjectsFailed))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::ObjectsUp))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::ProbeTick))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::ProcessGone))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::ProvenTick))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::ReadOutput))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::Resize))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::RoomTick))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::ScaleTick))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::ShortageTick))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::SpeculateTick))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::StartAttempt))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::StartChild))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::StartFinished))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::StartJob))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::StartTick))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::StartWorkers))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::StealTick))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::StopChild))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::StopSupervisor))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::Submit))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::TellWaits))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::TerminatePool))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::TraceTasks))
CAF_ADD_TYPE_ID(fiber_actors, (fiber::actors::WatchJob))
CAF_END_TYPE_ID_BLOCK(fiber_actors)

#endif
