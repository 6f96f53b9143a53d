/* Sends and receives messages at the zygote's end of the control socket. Each message is one
 * datagram, which may carry descriptors (mailbox/wire.h). */
#include "process/zygote.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

int mehari_control_socket = -1;

void mehari_zygote_report(const mehari_control *head, const char *text)
{
  struct { mehari_control head; char text[MEHARI_CONTROL_TEXT]; } out;
  out.head = *head;
  if (out.head.length > sizeof out.text)
    out.head.length = sizeof out.text;
  memcpy(out.text, text, out.head.length);
  if (send(mehari_control_socket, &out, sizeof out.head + out.head.length, MSG_NOSIGNAL) < 0)
    _exit(0);
}

bool mehari_message_receive(mehari_message *in)
{
  struct iovec parts[] = {{&in->head, sizeof in->head}, {in->text, MEHARI_CONTROL_TEXT}};
  union { struct cmsghdr header; char space[CMSG_SPACE(2 * sizeof(int))]; } control;
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2, .msg_control = control.space, .msg_controllen = sizeof control.space};
  ssize_t got;
  do
    got = recvmsg(mehari_control_socket, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  in->file_count = 0;
  if (got < (ssize_t)sizeof in->head)
    return false;
  size_t length = got - sizeof in->head;
  in->text[length] = '\0';
  in->head.length = length;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_type == SCM_RIGHTS) {
    in->file_count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    if (in->file_count > C_ARRAY_LENGTH(in->files))
      in->file_count = C_ARRAY_LENGTH(in->files);
    memcpy(in->files, CMSG_DATA(header), in->file_count * sizeof(int));
  }
  return true;
}

SV *mehari_message_gather(pTHX_ mehari_message *in)
{
  static SV *gathered;
  if (!gathered)
    gathered = newSVpvs("");
  sv_catpvn(gathered, in->text, in->head.length);
  if (in->head.status)
    return NULL;
  SV *whole = gathered;
  gathered = NULL;
  return whole;
}
