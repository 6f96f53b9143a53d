/* The current request: its frame, its body, and the files that the front sends with the request. */
#include "mailbox/attached.h"
#include "trace/trace.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

MEHARI_WRITTEN mehari_job mehari_now;
const uint64_t mehari_target_at = offsetof(mehari_request, text) + MEHARI_TEXT_TARGET * sizeof(mehari_span);
MEHARI_WRITTEN bool mehari_serving, mehari_in_child;
int mehari_front_socket = -1;

bool mehari_frame_is_sound(const mehari_request *frame, uint32_t most)
{
  if (frame->length < sizeof *frame || frame->length > most)
    return false;
  size_t pairs = (size_t)frame->field_count + frame->variable_count;
  return sizeof *frame + pairs * sizeof(mehari_pair) <= frame->length;
}

/* Receives the body file of request `id`. The front sends descriptors in order, each with the id
 * of its request. Descriptors of requests that the front took back are closed here. */
int mehari_body_receive(uint64_t id)
{
  for (;;) {
    uint64_t of = 0;
    struct iovec bytes = {&of, sizeof of};
    union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control;
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    ssize_t got = recvmsg(mehari_front_socket, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR)
      continue;
    struct cmsghdr *header = got == sizeof of ? CMSG_FIRSTHDR(&message) : NULL;
    if (!header || header->cmsg_type != SCM_RIGHTS)
      return -1;
    int file;
    memcpy(&file, CMSG_DATA(header), sizeof file);
    if (of == id)
      return file;
    close(file);
  }
}

bool mehari_mailbox_send_file(int file)
{
  uint64_t request = mehari_now.frame->request_id;
  struct iovec bytes = {&request, sizeof request};
  union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control;
  struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
  control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
  memcpy(CMSG_DATA(&control.header), &file, sizeof(int));
  return sendmsg(mehari_front_socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof request;
}

void mehari_mailbox_adopt(const mehari_request *frame, int body_file)
{
  mehari_job_read(&mehari_now, frame);
  mehari_trace_begin(frame->traced);
  mehari_now.body = NULL;
  mehari_now.body_length = 0;
  mehari_now.body_file = body_file;
  if (frame->body_kind == MEHARI_BODY_MEMORY) {
    mehari_text body = mehari_span_text(frame->body);
    mehari_now.body = body.at;
    mehari_now.body_length = body.length;
  }
}

/* Reads a frame from a file. The frame is checked, because the file came from another process, in
 * which any script may have run. */
bool mehari_mailbox_adopt_carried(int file)
{
  struct stat about;
  size_t size = fstat(file, &about) == 0 ? (size_t)about.st_size : 0;
  const mehari_request *frame = size < sizeof *frame ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (frame == MAP_FAILED || size > UINT32_MAX || !mehari_frame_is_sound(frame, (uint32_t)size))
    return false;
  mehari_job_read(&mehari_now, frame);
  return true;
}

void mehari_mailbox_map_body(void)
{
  if (mehari_now.frame->body_kind != MEHARI_BODY_FILE || mehari_now.frame->task == MEHARI_TASK_CONNECTION)
    return;
  size_t length = mehari_now.frame->body_length;
  void *mapped = mehari_now.body_file < 0 ? MAP_FAILED : mmap(NULL, length, PROT_READ, MAP_PRIVATE, mehari_now.body_file, 0);
  if (mapped == MAP_FAILED) {
    mehari_logf(MEHARI_LOG_ERROR, "the request body cannot be mapped: %s", strerror(errno));
    return;
  }
  mehari_now.body = mapped;
  mehari_now.body_length = length;
}

/* `body` must stay valid until the request is over. */
void mehari_mailbox_replace_body(mehari_text body)
{
  if (mehari_now.body_file >= 0) {
    if (mehari_now.body_length)
      munmap((void *)mehari_now.body, mehari_now.body_length);
    close(mehari_now.body_file);
    mehari_now.body_file = -1;
  }
  mehari_now.body = body.at;
  mehari_now.body_length = body.length;
}

void mehari_mailbox_forget(void)
{
  if (mehari_now.body_file >= 0) {
    if (mehari_now.body)
      munmap((void *)mehari_now.body, mehari_now.body_length);
    close(mehari_now.body_file);
    mehari_now.body_file = -1;
  }
  mehari_now.body = NULL;
  mehari_now.body_length = 0;
  mehari_serving = false;
}
