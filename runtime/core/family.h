// A process that is profiled and its forked children: they record when it says so, each into a file of its own.
#pragma once
#include <cstddef>
#include <string>

namespace perflab {

// For the process that is profiled: makes the family's control page in a folder. Throws Error where it cannot.
void lead_family(const std::string& folder);
void let_family_record(size_t max_events);  // every child, from now on; those to come too
void stop_family();                         // recording

// For a forked child: a thread waits for the leader's word, and starts and stops the recorder.
void join_family(const std::string& folder);

}  // namespace perflab
