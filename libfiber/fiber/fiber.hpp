// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fiber/as_completed.hpp"
#include "fiber/callable.hpp"
#include "fiber/config.hpp"
#include "fiber/error.hpp"
#include "fiber/future.hpp"
#include "fiber/pipe.hpp"
#include "fiber/pool.hpp"
#include "fiber/pool_stats.hpp"
#include "fiber/process.hpp"
#include "fiber/queue.hpp"
#include "fiber/remote_error.hpp"
#include "fiber/session.hpp"
#include "fiber/share.hpp"
#include "fiber/this_task.hpp"
#include "fiber/value.hpp"
