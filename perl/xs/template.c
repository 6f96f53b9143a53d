/* A template of the fork rung: a process of the zygote's that holds one script, compiled in an
 * interpreter nothing has run in, and forks a child for each request its worker orders.
 *
 * What a script does while it is compiled (BEGIN blocks, local modules) is part of a request: such a
 * script is compiled in the child.
 */
#include "mehari.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static bool receive_order(int socket, mehari_order *order, int *body_file)
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

static void load_modules(pTHX_ void *file)
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
  SP -= count;
  PUTBACK;
  FREETMPS;
  LEAVE;
  return only;
}

/* Tries the compilation in a process that is thrown away: true when it did nothing but define things. */
static bool compiles_purely(pTHX_ const char *file)
{
  pid_t trial = fork();
  if (!trial) {
    int status;
    mehari_in_child = true;
    mehari_may_have_spawned = false;
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 1); /* the file below is the template's, too */
    mehari_errors_quiet(true);
    mehari_script *script = mehari_script_compile(aTHX_ file, MEHARI_AS_PROGRAM, &status);
    bool pure = script && !script->printed && !mehari_may_have_spawned && mehari_purity_holds() && only_standard_modules(aTHX);
    _exit(pure ? 0 : 1);
  }
  int status = 1;
  while (trial > 0 && waitpid(trial, &status, 0) < 0 && errno == EINTR)
    ;
  return status == 0;
}

static void serve(pTHX_ mehari_script *script, const char *file, int socket)
{
  mehari_order now;
  int body_file, status = -1;
  if (!receive_order(socket, &now, &body_file))
    _exit(0);
  mehari_mailbox_adopt(mehari_mailbox_frame(now.frame), body_file);
  mehari_program_prepare(aTHX_ file);
  pid_t child = fork();
  if (!child) {
    close(socket); /* the worker must see the template's end, whoever lives on */
    mehari_serving = true;
    mehari_mailbox_map_body();
    mehari_program_run(aTHX_ script, file);
  }
  mehari_in_child = false;
  mehari_may_have_spawned = false;
  atomic_store(mehari_mailbox_child(), child > 0 ? child : 0);
  if (body_file >= 0)
    close(body_file);
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  atomic_store(mehari_mailbox_child(), 0);
  if (status || atomic_load(mehari_mailbox_progress()) & MEHARI_PROGRESS_WROTE)
    mehari_output_fresh_descriptor();
  mehari_ending ending = {child, status};
  if (send(socket, &ending, sizeof ending, MSG_NOSIGNAL) < 0)
    _exit(0);
}

void mehari_template_run(pTHX_ const char *file, const int files[MEHARI_TEMPLATE_FILES], int bell, int bell_event)
{
  int socket = files[1];
  mehari_process_open(aTHX_ "mehari-template", files[0], socket, bell, bell_event);
  mehari_front_socket = files[2];
  mehari_descriptor_claim(mehari_front_socket);
  mehari_enter_directory(NULL);
  mehari_enter_directory(file);
  mehari_set_program_name(aTHX_ file);
  mehari_script *script = NULL;
  int ignored;
  if (compiles_purely(aTHX_ file))
    script = mehari_script_compile(aTHX_ file, MEHARI_AS_PROGRAM, &ignored);
  else
    mehari_guard(aTHX_ load_modules, (void *)file, NULL);
  mehari_destructors_note(aTHX);
  for (;;)
    serve(aTHX_ script, file, socket);
}
