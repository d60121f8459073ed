// What Linux says of a processor, in its own texts and files.
#pragma once

#include <cstdint>
#include <string>

namespace relay::target {

// The processor's name in the text of /proc/cpuinfo. x86-64 has one: its `model name`. ARM has
// numbers of who designed the core and of the design, which make a name: `0x41:0xd0c r3p1`. Cores
// of several designs are joined by ` + `. Returns "unnamed processor" if there is neither.
std::string name_in_cpuinfo(const std::string& cpuinfo);

// Bytes of the data cache of this level, from a folder like /sys/devices/system/cpu/cpu0/cache.
// Returns 0 if the folder does not say.
int64_t cache_in_sysfs(const std::string& folder, int level);

}  // namespace relay::target
