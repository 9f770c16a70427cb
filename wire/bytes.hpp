// SPDX-License-Identifier: Apache-2.0
#pragma once

// Bytes and Payload are part of the public headers; this is the name wire/ knows them by.
#include "fiber/bytes.hpp"
