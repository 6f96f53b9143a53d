/* Writes the Perl stack of a worker to descriptor 2: when the request is slow, and just before the
 * front kills the worker because the request exceeded its time limit. A signal handler does this.
 * The handler only reads perl's memory. An inconsistent frame ends the listing. */
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"
#include "process/process.h"
#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* The signals of the front. */
#define OVERDUE (SIGRTMAX - 3) /* the request is about to be killed */
#define SLOW (SIGRTMAX - 2)    /* the request goes on */

MEHARI_LARGE static char text[4096];
static size_t filled;

static void put(const char *string, size_t length)
{
  if (length > sizeof text - filled)
    length = sizeof text - filled;
  memcpy(text + filled, string, length);
  filled += length;
}

static void put_string(const char *string) { put(string, strlen(string)); }

static void put_number(unsigned long number)
{
  char digits[24], *at = digits + sizeof digits;
  do {
    *--at = '0' + number % 10;
    number /= 10;
  } while (number);
  put(at, digits + sizeof digits - at);
}

static void put_place(const COP *cop)
{
  const char *file = cop ? CopFILE(cop) : NULL;
  put_string(file ? file : "?");
  put_string(":");
  put_number(cop ? CopLINE(cop) : 0);
}

static void put_name(pTHX_ CV *code)
{
  GV *glob = code && !CvNAMED(code) ? CvGV(code) : NULL;
  if (!glob || !isGV_with_GP(glob)) {
    put_string("a sub");
    return;
  }
  HV *stash = GvSTASH(glob);
  const char *package = stash ? HvNAME(stash) : NULL;
  if (package) {
    put_string(package);
    put_string("::");
  }
  put(GvNAME(glob), GvNAMELEN(glob));
}

static void list_stack(int signal)
{
#ifdef MULTIPLICITY
  PerlInterpreter *my_perl = mehari_interpreter;
#endif
  if (!mehari_running_perl) {
    mehari_fork_forward(signal);
    return;
  }
  int error = errno;
  filled = 0;
  put_string("process ");
  put_number(getpid());
  put_string(signal == SLOW ? ": the request is slow; Perl is at " : ": the request ran past its time limit; Perl was at ");
  put_place(PL_curcop);
  mehari_calls calls = mehari_calls_now(aTHX);
  CV *code;
  const COP *caller;
  while (mehari_next_call(&calls, &code, &caller)) {
    put_string(", in ");
    put_name(aTHX_ code);
    put_string(" called at ");
    put_place(caller);
  }
  put_string("\n");
  (void)!write(2, text, filled);
  if (signal == SLOW) {
    errno = error;
    return;
  }
  /* The front is about to kill this process. A `sleep` that returns early must not let the
   * script continue. */
  for (;;)
    pause();
}

void mehari_stack_watch(pTHX)
{
  MEHARI_LARGE static char space[65536];
  stack_t other = {.ss_sp = space, .ss_size = sizeof space};
  struct sigaction action = {.sa_handler = list_stack, .sa_flags = SA_ONSTACK | SA_RESTART};
  PERL_UNUSED_CONTEXT;
  sigaltstack(&other, NULL);
  sigaction(OVERDUE, &action, NULL);
  sigaction(SLOW, &action, NULL);
}
