/* Reports what a template would find out about a script, for `mehari explain`. The zygote forks a
 * process that compiles the script, takes a picture like a template, reports, and ends. The
 * script's main program never runs. Mehari::Explanation looks through the compiled code. */
#include "process/process.h"
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"
#include "mailbox/mailbox.h"
#include "response/response.h"
#include "rewind/rewind.h"
#include "script/script.h"
#include "stdio/standard.h"
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 30 /* seconds, for a compilation that does not end */
#define FORKS 9

static uint32_t question;

static void tell(const char *text, size_t length)
{
  mehari_control head = {MEHARI_CONTROL_EXPLAINED, question, 0, 0, length < MEHARI_CONTROL_TEXT ? length : MEHARI_CONTROL_TEXT};
  mehari_zygote_report(&head, text);
}

static void tellf(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tellf(const char *format, ...)
{
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length > 0)
    tell(line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}

static unsigned long microseconds(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (unsigned long)now.tv_sec * 1000000 + (unsigned long)now.tv_nsec / 1000;
}

/* Measures the shortest time of a fork of this process whose child ends at once. */
static void measure_fork(void)
{
  unsigned long least = 0;
  for (int i = 0; i < FORKS; i++) {
    unsigned long begun = microseconds();
    pid_t child = mehari_fork_own();
    if (!child)
      _exit(0);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
      ;
    unsigned long taken = microseconds() - begun;
    if (child > 0 && (!least || taken < least))
      least = taken;
  }
  tellf("fork\t%lu", least);
}

static void load_look(pTHX_ void *argument)
{
  PERL_UNUSED_ARG(argument);
  load_module(PERL_LOADMOD_NOIMPORT, newSVpvs("Mehari::Explanation"), NULL);
}

/* Sends the lines that Mehari::Explanation::look returns. */
static void look(pTHX_ void *code)
{
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  mXPUSHs(newRV_inc((SV *)code));
  PUTBACK;
  int count = call_pv("Mehari::Explanation::look", G_LIST | G_EVAL);
  SPAGAIN;
  for (int i = count - 1; i >= 0 && !SvTRUE(ERRSV); i--) {
    STRLEN length;
    const char *line = SvPV(SP[-i], length);
    tell(line, length);
  }
  SP -= count;
  PUTBACK;
  if (SvTRUE(ERRSV))
    tellf("failure\t%s", SvPV_nolen(ERRSV));
  FREETMPS;
  LEAVE;
}

static void examine_picture(pTHX)
{
  const char *refusal = mehari_rewind_open(aTHX_ false);
  if (!refusal) {
    tellf("picture\t%lu\t%lu", (unsigned long)mehari_rewind_pages(), (unsigned long)mehari_rewind_shared_pages());
    refusal = mehari_rewind_examine();
  }
  if (refusal) {
    tellf("refusal\t%s", refusal);
    return;
  }
  mehari_rewind_explain(tellf);
  alarm(PATIENCE);
}

/* Prepares the process as mehari_process_open prepares a template, but without a mailbox. */
static void open_process(pTHX)
{
  prctl(PR_SET_NAME, "mehari-explain");
  setpgid(0, 0);
  alarm(PATIENCE);
  mehari_forget_random_seed(aTHX);
  mehari_errors_quiet(true);
  mehari_errors_open(aTHX);
  mehari_input_open(aTHX);
  mehari_output_open(aTHX);
  mehari_may_have_spawned = false;
}

static void explain(pTHX_ const char *file) __attribute__((noreturn));
static void explain(pTHX_ const char *file)
{
  open_process(aTHX);
  uint32_t *effect = mmap(NULL, sizeof *effect, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (effect == MAP_FAILED)
    _exit(1);
  int status = 0;
  mehari_rewind_prepare(aTHX_ true); /* no template may have needed the base picture yet */
  mehari_rewind_tidy(aTHX_ false);
  mehari_script *script = mehari_compilation_open(aTHX_ file, effect);
  measure_fork();
  examine_picture(aTHX);
  if (!script) {
    unsigned long begun = microseconds();
    script = mehari_script_compile(aTHX_ file, MEHARI_AS_PROGRAM, &status);
    tellf("effect\t%lu\t%lu", (unsigned long)*effect, microseconds() - begun);
  }
  if (!script)
    tellf("broken\t%d", status);
  else if (mehari_guard(aTHX_ load_look, NULL, NULL) != MEHARI_RAN || mehari_guard(aTHX_ look, script->code, NULL) != MEHARI_RAN)
    _exit(1);
  _exit(0);
}

/* ---- in the zygote ---- */

#define EXPLAINERS 8
static struct { pid_t process; uint32_t question; } explainers[EXPLAINERS];

static void conclude(uint32_t of, pid_t process, int status)
{
  mehari_control head = {MEHARI_CONTROL_EXPLAINED, of, process, status, 0};
  mehari_zygote_report(&head, "");
}

/* Forks the process. The zygote's `files` stay open in it and count as the server's own
 * descriptors. */
void mehari_explanation_fork(pTHX_ const char *file, uint32_t number, const int *files, int count)
{
  int at = 0;
  while (at < EXPLAINERS && explainers[at].process)
    at++;
  pid_t process = at < EXPLAINERS ? mehari_fork_own() : -1;
  if (!process) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < count; i++)
      mehari_descriptor_claim(files[i]);
    question = number;
    explain(aTHX_ file);
  }
  if (process < 0) {
    conclude(number, -1, -1);
    return;
  }
  explainers[at].process = process;
  explainers[at].question = number;
}

void mehari_explanation_ended(pid_t process, int status)
{
  for (int i = 0; i < EXPLAINERS; i++)
    if (explainers[i].process == process) {
      explainers[i].process = 0;
      conclude(explainers[i].question, process, status);
    }
}
