// toml11 behind a few C functions.
#pragma once
