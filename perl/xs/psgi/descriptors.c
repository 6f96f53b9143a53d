/* Passes descriptors to another process. `plackup -s Mehari` passes the zygote's descriptors to the
 * process that has loaded the application (Mehari::PSGI::Keeper). */
#include "psgi/psgi.h"
#include "process/process.h"
#include <errno.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <signal.h>

#define LIMIT 8

typedef union {
  struct cmsghdr header;
  char space[CMSG_SPACE(LIMIT * sizeof(int))];
} envelope;

/* send($socket, @descriptors): sends one message with these descriptors. */
XS_INTERNAL(send_descriptors)
{
  dXSARGS;
  PERL_UNUSED_VAR(cv);
  int count = items - 1;
  if (count < 1 || count > LIMIT)
    croak("Mehari::Descriptors::send takes a socket and 1 to %d descriptors", LIMIT);
  char byte = 0;
  struct iovec bytes = {&byte, 1};
  envelope control;
  struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = CMSG_SPACE(count * sizeof(int))};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(count * sizeof(int))};
  for (int i = 0; i < count; i++) {
    int file = SvIV(ST(i + 1));
    memcpy(CMSG_DATA(header) + i * sizeof file, &file, sizeof file);
  }
  if (sendmsg(SvIV(ST(0)), &message, MSG_NOSIGNAL) != 1)
    croak("descriptors cannot be sent: %s", strerror(errno));
  XSRETURN_EMPTY;
}

/* receive($socket): returns the descriptors of one message. An empty list means that the other side
 * has ended. */
XS_INTERNAL(receive_descriptors)
{
  dXSARGS;
  PERL_UNUSED_VAR(cv);
  if (items != 1)
    croak("Mehari::Descriptors::receive takes a socket");
  char byte;
  struct iovec bytes = {&byte, 1};
  envelope control;
  struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
  ssize_t got;
  do
    got = recvmsg(SvIV(ST(0)), &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  SP -= items;
  mehari_touched |= MEHARI_TOUCHED_FILES;
  struct cmsghdr *header = got == 1 ? CMSG_FIRSTHDR(&message) : NULL;
  if (header && header->cmsg_type == SCM_RIGHTS) {
    int count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    EXTEND(SP, count);
    for (int i = 0; i < count; i++) {
      int file;
      memcpy(&file, CMSG_DATA(header) + i * sizeof file, sizeof file);
      mPUSHi(file);
    }
  }
  PUTBACK;
}

/* end_with_parent(): makes this process get TERM when its parent ends. */
XS_INTERNAL(end_with_parent)
{
  dXSARGS;
  PERL_UNUSED_VAR(cv);
  PERL_UNUSED_VAR(items);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  XSRETURN_EMPTY;
}

void mehari_psgi_descriptors_boot(pTHX)
{
  newXS("Mehari::Descriptors::send", send_descriptors, __FILE__);
  newXS("Mehari::Descriptors::receive", receive_descriptors, __FILE__);
  newXS("Mehari::Descriptors::end_with_parent", end_with_parent, __FILE__);
}
