/* Sends the parts of a traced request, each in a record of its own. Nothing is kept in memory, so a
 * process that dies, forks or is rewound loses at most the part that it is in. */
#include "trace/trace.h"
#include "interpreter/interpreter.h"
#include "mailbox/mailbox.h"
#include <unistd.h>

/* The longest name of a part in bytes. */
#define LONGEST_NAME 4096u
/* The most texts that are joined to a name. */
#define MOST_TEXTS 5

bool mehari_traced;
static uint64_t taken_at;

uint64_t mehari_trace_time(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The fetches before this part are a part of their own, which ends here. */
uint64_t mehari_trace_begin_part(void)
{
  mehari_trace_send_fetches();
  return mehari_trace_time();
}

/* Whether this process and thread may write records. */
static bool may_report(pTHX) { return mehari_traced && mehari_serving && !mehari_in_child && !mehari_in_thread(aTHX); }

void mehari_trace_send(int kind, mehari_part part, const mehari_text *name, int count)
{
  dTHX;
  if (!may_report(aTHX))
    return;
  mehari_text parts[MOST_TEXTS + 1] = {{(const char *)&part, sizeof part}};
  size_t room = LONGEST_NAME;
  count = count < MOST_TEXTS ? count : MOST_TEXTS;
  for (int i = 0; i < count; i++) {
    parts[i + 1] = (mehari_text){name[i].at, name[i].length < room ? name[i].length : room};
    room -= parts[i + 1].length;
  }
  mehari_ring_put(MEHARI_RECORD_PART, (uint16_t)kind, parts, count + 1);
}

void mehari_trace_report(int kind, uint64_t start, const char *what, mehari_text which)
{
  mehari_trace_send_fetches();
  uint64_t now = mehari_trace_time();
  mehari_part part = {start, now, now - start, MEHARI_PART_NO_ROWS, 1, (uint32_t)getpid()};
  mehari_text name[] = {{what, strlen(what)}, {" ", which.length ? 1 : 0}, which};
  mehari_trace_send(kind, part, name, 3);
}

void mehari_trace_begin(bool traced)
{
  if (LIKELY(!traced && !mehari_traced))
    return;
  if (traced)
    taken_at = mehari_trace_time();
  mehari_traced = traced;
  mehari_trace_loading(traced);
  if (traced) {
    dTHX;
    mehari_trace_statements(aTHX);
  } else
    mehari_trace_statements_end();
}

void mehari_trace_end(void)
{
  if (LIKELY(!mehari_traced))
    return;
  mehari_trace_report(MEHARI_PART_REQUEST, taken_at, "worker", (mehari_text){"", 0});
  mehari_trace_begin(false);
}
