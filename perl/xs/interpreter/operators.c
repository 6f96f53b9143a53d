/* The operators of perl that Mehari replaces. An op copies its function when the op is created, so
 * the zygote installs the replacements before it compiles any code of the site. */
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"
#include "environment/environment.h"
#include "mailbox/mailbox.h"
#include "process/process.h"
#include "psgi/psgi.h"
#include "response/response.h"
#include "script/script.h"
#include "stdio/standard.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

/* Operators that may leave a descriptor which no handle of perl holds: folders, copies made by
 * fcntl, files and sockets of the system's databases. */
static const U16 opening[] = {
  OP_OPEN_DIR, OP_CLOSEDIR, OP_FCNTL, OP_IOCTL, OP_GHBYNAME, OP_GHBYADDR, OP_GHOSTENT, OP_GNBYNAME, OP_GNBYADDR, OP_GNETENT, OP_GPBYNAME, OP_GPBYNUMBER, OP_GPROTOENT,
  OP_GSBYNAME, OP_GSBYPORT, OP_GSERVENT, OP_SHOSTENT, OP_SNETENT, OP_SPROTOENT, OP_SSERVENT, OP_EHOSTENT, OP_ENETENT, OP_EPROTOENT, OP_ESERVENT, OP_GPWNAM, OP_GPWUID,
  OP_GPWENT, OP_SPWENT, OP_EPWENT, OP_GGRNAM, OP_GGRGID, OP_GGRENT, OP_SGRENT, OP_EGRENT,
};
static OP *(*perl_opening[C_ARRAY_LENGTH(opening)])(pTHX);

MEHARI_WRITTEN bool mehari_directory_changed, mehari_umask_changed, mehari_exit_called, mehari_child_has_own_stdout, mehari_is_replaced;

#define PLACES 20 /* the most calls that fork-lint looks at */

static OP *(*perl_alarm)(pTHX), *(*perl_chroot)(pTHX), *(*perl_setpgrp)(pTHX), *(*perl_setpriority)(pTHX), *(*perl_syscall)(pTHX), *(*perl_leaveeval)(pTHX), *(*perl_require)(pTHX);
static OP *(*perl_open)(pTHX), *(*perl_sysopen)(pTHX), *(*perl_semop)(pTHX), *(*perl_syswrite)(pTHX), *(*perl_sysread)(pTHX), *(*perl_chdir)(pTHX), *(*perl_umask)(pTHX),
  *(*perl_socket)(pTHX), *(*perl_exec)(pTHX), *(*perl_system)(pTHX), *(*perl_backtick)(pTHX), *(*perl_fork)(pTHX), *(*perl_exit)(pTHX);

/* Returns the IO of the first argument of the operator that is about to run. */
static IO *first_argument_io(pTHX)
{
  SSize_t count;
  SV **arguments = mehari_arguments(aTHX_ &count);
  return count > 0 && arguments[0] && isGV_with_GP(arguments[0]) ? GvIO((GV *)arguments[0]) : NULL;
}

/* Runs an operator that starts a process. The process gets the current %ENV. */
static OP *spawn(pTHX_ OP *(*perl)(pTHX))
{
  if (!mehari_serving || mehari_in_child || mehari_in_thread(aTHX))
    return perl(aTHX);
  mehari_environment_export(aTHX);
  OP *next = perl(aTHX);
  mehari_environment_restore();
  return next;
}

/* Whether this `open` starts a process: its mode or name has a pipe. */
static bool opens_a_pipe(pTHX)
{
  SSize_t count;
  SV **arguments = mehari_arguments(aTHX_ &count);
  for (SSize_t i = 1; i < count && i <= 2; i++)
    if (SvPOK(arguments[i]) && memchr(SvPVX(arguments[i]), '|', SvCUR(arguments[i])))
      return true;
  return false;
}

/* Runs an operator whose child writes to a pipe to this process instead of descriptor 1. */
static OP *spawn_for_reading(pTHX_ OP *(*perl)(pTHX))
{
  if (mehari_in_thread(aTHX))
    return perl(aTHX);
  mehari_child_has_own_stdout = true;
  OP *next = spawn(aTHX_ perl);
  mehari_child_has_own_stdout = false;
  return next;
}

/* Whether this `open` reads from a process: `open F, "command |"` or `open F, "-|", ...`. */
static bool opens_for_reading(pTHX)
{
  SSize_t count;
  SV **arguments = mehari_arguments(aTHX_ &count);
  STRLEN length;
  if (count < 2 || !SvPOK(arguments[1]))
    return false;
  const char *text = SvPV_const(arguments[1], length);
  while (length && isSPACE(text[length - 1]))
    length--;
  return length && text[length - 1] == '|' && text[0] != '|';
}

/* Whether this `open` takes over a descriptor by its number: `open F, "<&=", 5`. Closing F then
 * closes descriptor 5, even if other code opened the descriptor. */
static bool opens_a_number(pTHX)
{
  SSize_t count;
  SV **arguments = mehari_arguments(aTHX_ &count);
  return count > 1 && SvPOK(arguments[1]) && memmem(SvPVX(arguments[1]), SvCUR(arguments[1]), "&=", 2);
}

static bool has(SV *text, const char *part) { return SvPOK(text) && memmem(SvPVX(text), SvCUR(text), part, strlen(part)); }

/* Whether this `open` may read descriptor 0 by its number or by a name of the kernel. */
static bool opens_input(pTHX)
{
  SSize_t count;
  SV **arguments = mehari_arguments(aTHX_ &count);
  if (count > 1 && has(arguments[1], "&") && !has(arguments[1], ">"))
    return true;
  for (SSize_t i = 1; i < count && i <= 2; i++)
    if (has(arguments[i], "/dev/stdin") || has(arguments[i], "/dev/fd/0") || has(arguments[i], "/proc/self/fd/0"))
      return true;
  return false;
}

/* Notes that a file of /proc is opened for writing. Many such files change the process itself: its
 * name, and how the kernel treats it. */
static void note_proc(SV **arguments, SSize_t count, bool writes)
{
  for (SSize_t i = 1; i < count && i <= 2 && writes; i++)
    if (has(arguments[i], "/proc/") && !mehari_in_child)
      mehari_touched |= MEHARI_TOUCHED_KERNEL;
}

/* Runs an `open` that starts a process which reads what this process prints. */
static OP *spawn_for_writing(pTHX)
{
  pid_t before = getpid();
  OP *next = spawn(aTHX_ perl_open);
  if (mehari_serving && getpid() != before)
    mehari_input_is_a_pipe(aTHX);
  return next;
}

static OP *run_open(pTHX)
{
  IO *io = first_argument_io(aTHX);
  SSize_t count;
  SV **arguments = mehari_arguments(aTHX_ &count);
  note_proc(arguments, count, count > 1 && (has(arguments[1], ">") || has(arguments[1], "+")));
  if (opens_a_number(aTHX))
    mehari_touched |= MEHARI_TOUCHED_DESCRIPTORS;
  if (mehari_serving && opens_input(aTHX))
    mehari_input_spill();
  OP *next = !opens_a_pipe(aTHX) ? perl_open(aTHX) : opens_for_reading(aTHX) ? spawn_for_reading(aTHX_ perl_open) : spawn_for_writing(aTHX);
  if (io) {
    mehari_output_reopened(aTHX_ io);
    mehari_input_reopened(aTHX_ io);
    mehari_errors_reopened(aTHX_ io);
  }
  return next;
}

/* The operator has no mark. */
static OP *run_sysopen(pTHX)
{
  SSize_t count = PL_op->op_private & OPpARG4_MASK;
  SV **arguments = PL_stack_sp - count + 1;
  note_proc(arguments, count, count > 2 && (SvIV(arguments[2]) & O_ACCMODE) != O_RDONLY);
  return perl_sysopen(aTHX);
}

/* Runs `semop`. The kernel undoes some changes of semaphores, but only when the process ends. */
static OP *run_semop(pTHX)
{
  SSize_t count;
  SV **arguments = mehari_arguments(aTHX_ &count);
  STRLEN size = 0;
  const char *bytes = count > 1 ? SvPV_const(arguments[1], size) : NULL;
  struct sembuf one;
  for (STRLEN at = 0; at + sizeof one <= size; at += sizeof one) {
    memcpy(&one, bytes + at, sizeof one);
    if (one.sem_flg & SEM_UNDO && !mehari_in_child)
      mehari_touched |= MEHARI_TOUCHED_KERNEL;
  }
  return perl_semop(aTHX);
}

/* Runs `syswrite STDOUT, TEXT [, LENGTH [, OFFSET]]`. Bytes go to the response like those of a
 * print. In other cases perl's own operator runs and reports errors. */
static OP *run_syswrite(pTHX)
{
  IO *io = first_argument_io(aTHX);
  PerlIO *handle = io && !SvRMAGICAL((SV *)io) ? IoOFP(io) : NULL;
  if (!handle || !mehari_is_output(handle) || PerlIO_isutf8(handle))
    return perl_syswrite(aTHX);
  SSize_t count;
  SV **arguments = mehari_arguments(aTHX_ &count);
  /* `&CORE::syswrite` passes a null for each missing argument. */
  SV *wanted = count > 2 ? arguments[2] : NULL, *from = count > 3 ? arguments[3] : NULL;
  STRLEN size;
  const char *bytes = SvPV(arguments[1], size);
  IV offset = from ? SvIV(from) : 0, length = wanted ? SvIV(wanted) : (IV)size;
  if (offset < 0)
    offset += size;
  if (SvUTF8(arguments[1]) || offset < 0 || (STRLEN)offset > size || length < 0)
    return perl_syswrite(aTHX);
  if ((STRLEN)length > size - offset)
    length = size - offset;
  bool is_broken = PerlIO_write(handle, bytes + offset, length) < 0;
  if (IoFLAGS(io) & IOf_FLUSH && !is_broken)
    is_broken = PerlIO_flush(handle) < 0;
  dSP;
  dTARGET;
  SP = PL_stack_base + POPMARK;
  if (is_broken) {
    XPUSHs(&PL_sv_undef);
    PUTBACK;
    return NORMAL;
  }
  sv_setiv(TARG, length);
  SvSETMAGIC(TARG);
  XPUSHs(TARG);
  PUTBACK;
  return NORMAL;
}

/* Runs `sysread`. Perl's own operator would read the descriptor. On a handle with one of Mehari's
 * layers, this one reads through the layer. */
static OP *run_sysread(pTHX)
{
  IO *io = first_argument_io(aTHX);
  PerlIO *handle = io ? IoIFP(io) : NULL;
  if (!handle || !PerlIOValid(handle) || (PerlIOBase(handle)->tab != &mehari_input_layer && PerlIOBase(handle)->tab != &mehari_psgi_input_layer))
    return perl_sysread(aTHX);
  /* Runs a copy of the op, so the script's op stays unchanged even if perl dies because of the
   * length. */
  OP *op = PL_op;
  LISTOP read = *cLISTOPx(op);
  read.op_type = OP_READ;
  PL_op = (OP *)&read;
  OP *next = perl_sysread(aTHX);
  PL_op = op;
  return next;
}

static OP *run_system(pTHX) { return spawn(aTHX_ perl_system); }
static OP *run_backtick(pTHX) { return spawn_for_reading(aTHX_ perl_backtick); }
static OP *run_fork(pTHX) { return spawn(aTHX_ perl_fork); }

/* Notes for fork-lint where a socket is opened while the zygote loads or is warmed up: the
 * statement, then the calls around it. */
static void note_place(pTHX_ IO *io)
{
  int file = io && IoIFP(io) ? PerlIO_fileno(IoIFP(io)) : -1;
  if (file < 0 || (mehari_serving && !mehari_is_warming))
    return;
  SV *text = newSVpvs("");
  mehari_calls calls = mehari_calls_now(aTHX);
  CV *code;
  const COP *at = PL_curcop;
  for (int depth = 0; at && depth < PLACES; depth++) {
    const char *file_name = CopFILE(at);
    sv_catpvf(text, "%s:%lu\n", file_name ? file_name : "?", (unsigned long)CopLINE(at));
    if (!mehari_next_call(&calls, &code, &at))
      break;
  }
  char number[16];
  int length = snprintf(number, sizeof number, "%d", file);
  (void)hv_store(get_hv("Mehari::ForkLint::place", GV_ADDMULTI), number, length, text, 0);
}

static OP *run_socket(pTHX)
{
  /* The operator has four arguments and no mark. */
  SV *glob = PL_stack_sp - PL_stack_base > 3 ? PL_stack_sp[-3] : NULL;
  OP *next = perl_socket(aTHX);
  note_place(aTHX_ glob && isGV_with_GP(glob) ? GvIO((GV *)glob) : NULL);
  return next;
}

static OP *run_opening(pTHX)
{
  size_t at = 0;
  while (at < C_ARRAY_LENGTH(opening) && opening[at] != PL_op->op_type)
    at++;
  if (at == C_ARRAY_LENGTH(opening))
    croak("an operator has the function of another operator, which the server does not know");
  mehari_touched |= MEHARI_TOUCHED_FILES;
  if (opening[at] == OP_FCNTL || opening[at] == OP_IOCTL)
    mehari_touched |= MEHARI_TOUCHED_FLAGS;
  return perl_opening[at](aTHX);
}

static OP *run_chdir(pTHX)
{
  mehari_directory_changed = true;
  return perl_chdir(aTHX);
}

static OP *run_alarm(pTHX)
{
  mehari_touched |= MEHARI_TOUCHED_TIMERS;
  return perl_alarm(aTHX);
}

static OP *change_process(pTHX_ OP *(*perl)(pTHX))
{
  if (mehari_serving && !mehari_in_child)
    mehari_touched |= MEHARI_TOUCHED_PROCESS;
  return perl(aTHX);
}

static OP *run_chroot(pTHX) { return change_process(aTHX_ perl_chroot); }
static OP *run_setpgrp(pTHX) { return change_process(aTHX_ perl_setpgrp); }
static OP *run_setpriority(pTHX) { return change_process(aTHX_ perl_setpriority); }

static OP *run_syscall(pTHX)
{
  mehari_touched |= MEHARI_TOUCHED_DESCRIPTORS | MEHARI_TOUCHED_MASK | MEHARI_TOUCHED_TIMERS | MEHARI_TOUCHED_LIMITS;
  return perl_syscall(aTHX);
}

/* Runs `require`, and `use`. If a file is loaded, perl's own operator has compiled the file when it
 * returns, and the file's main program follows. */
static OP *run_require(pTHX)
{
  I32 depth = cxstack_ix;
  uint64_t begun = mehari_load_clock();
  OP *next = perl_require(aTHX);
  if (!mehari_in_thread(aTHX))
    mehari_load_begun(aTHX_ depth, begun);
  return next;
}

/* Runs the op that ends a loaded file or a string eval. */
static OP *run_leaveeval(pTHX)
{
  bool was_loaded = mehari_leaves_loaded_file(aTHX);
  if (was_loaded && !mehari_in_thread(aTHX))
    mehari_load_ended(aTHX);
  OP *next = perl_leaveeval(aTHX);
  if (was_loaded && !mehari_in_thread(aTHX)) {
    mehari_watch_loaded(aTHX);
    mehari_filters_loaded(aTHX);
  }
  return next;
}

static OP *run_exit(pTHX)
{
  if (!mehari_in_thread(aTHX))
    mehari_exit_called = true;
  return perl_exit(aTHX);
}

static OP *run_umask(pTHX)
{
  mehari_umask_changed = true;
  return perl_umask(aTHX);
}

/* Becomes the program in a child. If this fails, the child writes to the pipe and ends. */
static void exec_in_child(pTHX_ int pipe)
{
  COP quiet = *PL_curcop; /* the parent warns */
  quiet.cop_warnings = pWARN_NONE;
  PL_curcop = &quiet;
  perl_exec(aTHX);
  (void)!write(pipe, "", 1);
  _exit(255);
}

/* Ends as the program that has taken the place of the script. */
static void end_like(pTHX_ int status)
{
  mehari_exit_called = true;
  mehari_is_replaced = mehari_is_program;
  if (mehari_is_program && WIFSIGNALED(status)) {
    PL_op = NULL;
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
  }
  my_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 255);
}

/* Runs `exec`. Perl's own operator would replace the worker. Here a child becomes the program, and
 * the script ends with the child. If the program cannot be run, perl's own operator fails too, and
 * the script goes on. */
static OP *run_exec(pTHX)
{
  if (!mehari_serving || mehari_in_child)
    return perl_exec(aTHX);
  if (mehari_in_thread(aTHX))
    croak("exec in a thread would end the server's process: use system");
  PerlIO_flush((PerlIO *)NULL);
  int ends[2], status = 0;
  char any;
  ssize_t told = 0;
  if (pipe2(ends, O_CLOEXEC) < 0)
    croak("exec: no pipe: %s", strerror(errno));
  mehari_environment_export(aTHX);
  pid_t child = fork();
  if (!child)
    exec_in_child(aTHX_ ends[1]);
  mehari_environment_restore();
  close(ends[1]);
  while (child > 0 && (told = read(ends[0], &any, 1)) < 0 && errno == EINTR)
    ;
  close(ends[0]);
  if (child > 0)
    status = mehari_tap_await(child);
  if (child < 0 || told)
    return perl_exec(aTHX);
  end_like(aTHX_ status);
  return NULL;
}

static bool is_own_fork;
pid_t mehari_fork_own(void)
{
  is_own_fork = true;
  pid_t child = fork();
  is_own_fork = false;
  return child;
}

static void in_forked_child(void)
{
  mehari_template_child_forked();
  if (!is_own_fork)
    mehari_mailbox_leave();
  mehari_in_child = true;
  if (mehari_child_has_own_stdout)
    mehari_output_discard(); /* the parent sends its printed output itself */
  mehari_child_has_own_stdout = false;
}

static void in_forking_parent(void)
{
  mehari_may_have_spawned = true;
}

void mehari_operators_install(pTHX)
{
  PERL_UNUSED_CONTEXT;
  mehari_replace_operator(OP_OPEN, run_open, &perl_open);
  mehari_replace_operator(OP_SYSOPEN, run_sysopen, &perl_sysopen);
  mehari_replace_operator(OP_SEMOP, run_semop, &perl_semop);
  mehari_replace_operator(OP_SYSWRITE, run_syswrite, &perl_syswrite);
  mehari_replace_operator(OP_SYSREAD, run_sysread, &perl_sysread);
  mehari_replace_operator(OP_CHDIR, run_chdir, &perl_chdir);
  mehari_replace_operator(OP_UMASK, run_umask, &perl_umask);
  mehari_replace_operator(OP_SOCKET, run_socket, &perl_socket);
  mehari_replace_operator(OP_EXEC, run_exec, &perl_exec);
  mehari_replace_operator(OP_SYSTEM, run_system, &perl_system);
  mehari_replace_operator(OP_BACKTICK, run_backtick, &perl_backtick);
  mehari_replace_operator(OP_FORK, run_fork, &perl_fork);
  mehari_replace_operator(OP_EXIT, run_exit, &perl_exit);
  mehari_replace_operator(OP_ALARM, run_alarm, &perl_alarm);
  mehari_replace_operator(OP_CHROOT, run_chroot, &perl_chroot);
  mehari_replace_operator(OP_SETPGRP, run_setpgrp, &perl_setpgrp);
  mehari_replace_operator(OP_SETPRIORITY, run_setpriority, &perl_setpriority);
  mehari_replace_operator(OP_SYSCALL, run_syscall, &perl_syscall);
  mehari_replace_operator(OP_REQUIRE, run_require, &perl_require);
  mehari_replace_operator(OP_LEAVEEVAL, run_leaveeval, &perl_leaveeval);
  for (size_t i = 0; i < C_ARRAY_LENGTH(opening); i++)
    mehari_replace_operator(opening[i], run_opening, &perl_opening[i]);
  pthread_atfork(NULL, in_forking_parent, in_forked_child);
}
