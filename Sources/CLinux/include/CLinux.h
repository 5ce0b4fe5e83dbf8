// System calls and macros that Swift cannot see.
#pragma once
