/* The rung `fork`: each request is a process, forked from one that has the script compiled.
 *
 * A worker keeps a template process for each script it has met. The template holds the script, as
 * perl would have compiled it for running, in an interpreter nothing has run in; for a request it
 * forks a child that runs it as the main program and answers through the worker's own mailbox. What
 * a script does before it runs (BEGIN blocks, local modules) is part of a request, so a script that
 * does such things is compiled in the child.
 */
#include "mehari.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEMPLATES 16

typedef struct {
  char file[4097];
  struct stat made_from;
  pid_t process;
  int socket;
  uint64_t used;
} template;

static template templates[TEMPLATES];
static uint64_t clock_hand;
bool mehari_is_program; /* this process runs a script as perl itself would */

typedef struct {
  const mehari_request *frame; /* mapped at the same address in both */
  bool has_body_file;
} order;

/* ---- the child: one run of the script ---- */

static void run_as_main(pTHX_ void *argument)
{
  mehari_script *script = argument;
  PL_main_cv = script->code;
  PL_main_root = CvROOT(script->code);
  PL_main_start = CvSTART(script->code);
  CvDEPTH(script->code) = 1;
  PL_comppad = PadlistARRAY(CvPADLIST(script->code))[1];
  PL_curpad = AvARRAY(PL_comppad);
  PL_op = CvSTART(script->code);
  CALLRUNOPS(aTHX);
}

/* The sub's last op would pop a call that was never made. */
static OP *end_of_program(pTHX)
{
  PERL_UNUSED_CONTEXT;
  return NULL;
}

/* ---- the end of a program ---- */

static SV **old_objects; /* those with a DESTROY that were there before the script ran, sorted by address */
static size_t old_object_count;

static bool has_destructor(pTHX_ SV *object)
{
  static HV *last;
  static bool last_answer;
  HV *stash = SvSTASH(object);
  if (!stash || SvTYPE(object) == SVt_PVIO)
    return false;
  if (stash != last) {
    GV *found = gv_fetchmeth_pvn(stash, "DESTROY", 7, 0, 0);
    CV *code = found && isGV_with_GP(found) ? GvCV(found) : NULL;
    last = stash;
    last_answer = code && (CvISXSUB(code) || CvROOT(code));
  }
  return last_answer;
}

static int by_address(const void *a, const void *b)
{
  const SV *left = *(SV *const *)a, *right = *(SV *const *)b;
  return left < right ? -1 : left > right;
}

static void each_object(pTHX_ void (*see)(pTHX_ SV *object, void *argument), void *argument)
{
  for (SV *arena = PL_sv_arenaroot; arena; arena = (SV *)SvANY(arena)) {
    SV *end = &arena[SvREFCNT(arena)];
    for (SV *each = arena + 1; each < end; each++)
      if (SvTYPE(each) != (svtype)SVTYPEMASK && SvREFCNT(each) && SvTYPE(each) >= SVt_PVMG && SvOBJECT(each) && has_destructor(aTHX_ each))
        see(aTHX_ each, argument);
  }
}

static void note_old(pTHX_ SV *object, void *argument)
{
  PERL_UNUSED_CONTEXT;
  PERL_UNUSED_ARG(argument);
  Renew(old_objects, old_object_count + 1, SV *);
  old_objects[old_object_count++] = object;
}

static void look_for_new(pTHX_ SV *object, void *found)
{
  PERL_UNUSED_CONTEXT;
  if (!bsearch(&object, old_objects, old_object_count, sizeof *old_objects, by_address))
    *(bool *)found = true;
}

static void run_end_blocks(pTHX)
{
  while (PL_endav && av_top_index(PL_endav) >= 0) {
    SV *block = av_shift(PL_endav);
    call_sv(block, G_VOID | G_DISCARD | G_EVAL | G_KEEPERR);
  }
}

/* perl's own end costs milliseconds in a large interpreter: every object is looked for and unshared. It is
 * due when the script left an object whose destructor may do something. */
static void end_program(pTHX_ void *argument)
{
  bool due = false;
  PERL_UNUSED_ARG(argument);
  run_end_blocks(aTHX);
  each_object(aTHX_ look_for_new, &due);
  CvDEPTH(PL_main_cv) = 0;
  if (due)
    perl_destruct(aTHX);
  else
    PerlIO_flush((PerlIO *)NULL);
}

static void set_arguments(pTHX)
{
  /* RFC 3875 4.4: an indexed query (no `=`) is the command line. */
  AV *arguments = get_av("ARGV", GV_ADD);
  av_clear(arguments);
  mehari_text query = mehari_request_text(MEHARI_TEXT_QUERY), method = mehari_request_text(MEHARI_TEXT_METHOD);
  if (!query.length || memchr(query.at, '=', query.length) || !(method.length >= 3 && (memEQ(method.at, "GET", 3) || memEQ(method.at, "HEAD", 4))))
    return;
  SV *word = newSVpvs("");
  for (STRLEN i = 0; i <= query.length; i++) {
    if (i == query.length || query.at[i] == '+') {
      av_push(arguments, word);
      word = newSVpvs("");
    } else if (query.at[i] == '%' && i + 2 < query.length && isXDIGIT(query.at[i + 1]) && isXDIGIT(query.at[i + 2])) {
      char byte = (char)(XDIGIT_VALUE(query.at[i + 1]) << 4 | XDIGIT_VALUE(query.at[i + 2]));
      sv_catpvn(word, &byte, 1);
      i += 2;
    } else
      sv_catpvn(word, query.at + i, 1);
  }
  SvREFCNT_dec(word);
}

static void run_child(pTHX_ mehari_script *script, const char *file) __attribute__((noreturn));
static void run_child(pTHX_ mehari_script *script, const char *file)
{
  int status = 0;
  mehari_in_child = false;
  mehari_may_have_spawned = false;
  mehari_is_program = true;
  PL_srand_called = FALSE;
  time(&PL_basetime);
  mehari_output_begin(aTHX);
  mehari_input_begin(aTHX);
  mehari_errors_begin(aTHX);
  mehari_environment_begin(aTHX);
  set_arguments(aTHX);
  mehari_directory_changed = true;
  mehari_enter_directory(file);
  mehari_set_program_name(aTHX_ file);
  if (!script)
    script = mehari_script_compile(aTHX_ file, MEHARI_AS_PROGRAM, &status);
  if (script) {
    if (script->warnings)
      PL_dowarn |= G_WARN_ON;
    CvROOT(script->code)->op_ppaddr = end_of_program;
    mehari_script_open_data(aTHX_ script);
    mehari_guard(aTHX_ run_as_main, script, &status);
    if (mehari_in_child)
      mehari_child_leave(aTHX_ status);
  } else if (!mehari_output_bytes()) {
    mehari_output_error(status);
    mehari_errors_end(aTHX);
    mehari_ring_publish();
    _exit(0);
  }
  mehari_guard(aTHX_ end_program, NULL, NULL);
  if (mehari_in_child) {
    mehari_output_spill();
    _exit(status);
  }
  mehari_output_end(aTHX);
  mehari_errors_end(aTHX);
  if (mehari_may_have_spawned)
    atomic_fetch_or(mehari_mailbox_progress(), MEHARI_PROGRESS_SPAWNED);
  mehari_ring_publish();
  _exit(0);
}

/* ---- the template ---- */

static bool receive_order(int socket, order *order, int *body_file)
{
  struct iovec bytes = {order, sizeof *order};
  union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control;
  struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
  ssize_t got;
  do
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  *body_file = -1;
  if (got != sizeof *order)
    return false;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_type == SCM_RIGHTS)
    memcpy(body_file, CMSG_DATA(header), sizeof *body_file);
  return true;
}

static bool preload_modules(pTHX_ const char *file)
{
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  mXPUSHp(file, strlen(file));
  PUTBACK;
  call_pv("Mehari::Zygote::load_what_a_script_uses", G_VOID | G_DISCARD | G_EVAL);
  FREETMPS;
  LEAVE;
  return true;
}

static bool only_standard_modules(pTHX)
{
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  PUTBACK;
  int count = call_pv("Mehari::Zygote::only_standard_modules", G_SCALAR | G_EVAL);
  SPAGAIN;
  bool only = count == 1 && SvTRUE(TOPs);
  if (count == 1)
    (void)POPs;
  PUTBACK;
  FREETMPS;
  LEAVE;
  return only;
}

static void in_guard(pTHX_ void *argument)
{
  preload_modules(aTHX_ argument);
}

/* Tries the compilation in a process that is thrown away: true when nothing but the script itself came of it. */
static bool compiles_purely(pTHX_ const char *file)
{
  pid_t trial = fork();
  if (trial < 0)
    return false;
  if (!trial) {
    int status;
    mehari_in_child = false;
    mehari_errors_quiet(true);
    mehari_script *script = mehari_script_compile(aTHX_ file, MEHARI_AS_PROGRAM, &status);
    _exit(script && !script->printed && !mehari_may_have_spawned && mehari_script_was_pure() && only_standard_modules(aTHX) ? 0 : 1);
  }
  int status = 1;
  while (waitpid(trial, &status, 0) < 0 && errno == EINTR)
    ;
  return status == 0;
}

static void serve_template(pTHX_ const char *file, int socket) __attribute__((noreturn));
static void serve_template(pTHX_ const char *file, int socket)
{
  mehari_in_child = false;
  mehari_template_process(aTHX);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  mehari_script *script = NULL;
  int ignored;
  if (compiles_purely(aTHX_ file))
    script = mehari_script_compile(aTHX_ file, MEHARI_AS_PROGRAM, &ignored);
  else
    mehari_guard(aTHX_ in_guard, (void *)file, NULL);
  each_object(aTHX_ note_old, NULL);
  qsort(old_objects, old_object_count, sizeof *old_objects, by_address);
  for (;;) {
    order now;
    int body_file;
    if (!receive_order(socket, &now, &body_file))
      _exit(0);
    mehari_mailbox_adopt(now.frame, body_file);
    pid_t child = fork();
    if (!child) {
      close(socket);
      mehari_mailbox_map_body();
      run_child(aTHX_ script, file);
    }
    mehari_in_child = false;
    if (body_file >= 0)
      close(body_file);
    int status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
      ;
    if (atomic_load(mehari_mailbox_progress()) & MEHARI_PROGRESS_SPAWNED || status)
      mehari_output_fresh_descriptor();
    if (send(socket, &status, sizeof status, MSG_NOSIGNAL) < 0)
      _exit(0);
  }
}

/* ---- the worker's side ---- */

static void drop_template(template *this)
{
  if (!this->process)
    return;
  close(this->socket);
  kill(this->process, SIGKILL);
  while (waitpid(this->process, NULL, 0) < 0 && errno == EINTR)
    ;
  this->process = 0;
}

static bool start_template(pTHX_ template *this, const char *file, const struct stat *now)
{
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    return false;
  PerlIO_flush((PerlIO *)NULL);
  pid_t process = fork();
  if (!process) {
    close(ends[0]);
    for (int i = 0; i < TEMPLATES; i++)
      if (templates[i].process)
        close(templates[i].socket);
    char own[4097];
    strcpy(own, file);
    serve_template(aTHX_ own, ends[1]);
  }
  close(ends[1]);
  if (process < 0) {
    close(ends[0]);
    return false;
  }
  strcpy(this->file, file);
  this->made_from = *now;
  this->process = process;
  this->socket = ends[0];
  return true;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
  return a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
         a->st_size == b->st_size;
}

static template *find_template(pTHX_ const char *file, const struct stat *now)
{
  template *oldest = &templates[0];
  for (int i = 0; i < TEMPLATES; i++) {
    template *this = &templates[i];
    if (this->process && strEQ(this->file, file)) {
      if (same_file(&this->made_from, now))
        return this;
      drop_template(this);
    }
    if (!this->process || (oldest->process && this->used < oldest->used))
      oldest = this;
  }
  drop_template(oldest);
  return start_template(aTHX_ oldest, file, now) ? oldest : NULL;
}

static bool send_order(int socket)
{
  order now = {mehari_now.frame, mehari_now.body_file >= 0};
  struct iovec bytes = {&now, sizeof now};
  union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control;
  struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
  if (now.has_body_file) {
    message.msg_control = control.space;
    message.msg_controllen = sizeof control.space;
    control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    memcpy(CMSG_DATA(&control.header), &mehari_now.body_file, sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof now;
}

static void complete(const char *file, int status)
{
  uint32_t progress = atomic_load(mehari_mailbox_progress()) & ~MEHARI_PROGRESS_SPAWNED;
  if (WIFSIGNALED(status))
    mehari_logf(MEHARI_LOG_ERROR, "%s: the process was ended by signal %d%s", file, WTERMSIG(status), progress ? "" : "; premature end of script headers");
  else if (!progress)
    mehari_logf(MEHARI_LOG_ERROR, "%s: the process ended with status %d before its response; premature end of script headers", file,
                WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  if (progress == 0)
    mehari_output_error(500);
  else if (progress == 1)
    mehari_ring_put(MEHARI_RECORD_END, 0, NULL, 0);
}

void mehari_fork_serve(pTHX)
{
  mehari_text task = mehari_request_text(MEHARI_TEXT_TASK);
  char file[4097];
  struct stat now;
  if (task.length >= sizeof file) {
    mehari_output_error(414);
    return;
  }
  memcpy(file, task.at, task.length);
  file[task.length] = '\0';
  if (stat(file, &now) < 0 || !S_ISREG(now.st_mode)) {
    mehari_output_error(errno == EACCES ? 403 : 404);
    return;
  }
  template *this = find_template(aTHX_ file, &now);
  mehari_in_child = false;
  if (!this) {
    mehari_logf(MEHARI_LOG_ERROR, "%s: no process could be started: %s", file, strerror(errno));
    mehari_output_error(503);
    return;
  }
  this->used = ++clock_hand;
  int status = -1;
  bool answered = send_order(this->socket);
  while (answered) {
    ssize_t got = recv(this->socket, &status, sizeof status, 0);
    if (got < 0 && errno == EINTR)
      continue;
    answered = got == sizeof status;
    break;
  }
  if (!answered)
    drop_template(this);
  complete(file, status);
}
