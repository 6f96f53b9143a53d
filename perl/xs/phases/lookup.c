/* Asks the front to resolve another path for a request. The answer is the frame of a request for
 * this path. */
#include "mailbox/mailbox.h"
#include "phases/phases.h"
#include "request/record.h"

/* Whether a text is about the client, so that it stays the same for another path. */
static bool is_the_clients(int text, bool is_same)
{
  switch (text) {
  case MEHARI_TEXT_PROTOCOL:
  case MEHARI_TEXT_SCHEME:
  case MEHARI_TEXT_SERVER_NAME:
  case MEHARI_TEXT_SERVER_ADDR:
  case MEHARI_TEXT_REMOTE_ADDR:
    return true;
  case MEHARI_TEXT_METHOD:
  case MEHARI_TEXT_TARGET:
    return is_same;
  default:
    return false;
  }
}

typedef struct {
  mehari_request *frame;
  uint32_t at, room;
} writer;

static mehari_span put(writer *into, mehari_text text)
{
  mehari_span span = {into->at, text.length};
  if (text.length > into->room - into->at)
    return (mehari_span){0, 0};
  mehari_bytes((char *)into->frame + into->at, text.at, text.length);
  into->at += text.length;
  return span;
}

static void put_pairs(writer *into, mehari_pair *pairs, const mehari_job *from, const mehari_pair *source, int count)
{
  for (int i = 0; i < count; i++) {
    pairs[i].name = put(into, mehari_job_text(from, source[i].name));
    pairs[i].value = put(into, mehari_job_text(from, source[i].value));
  }
}

/* Returns the length of all pairs. The texts of a frame may overlap, so together they may be longer
 * than the frame. */
static size_t length_of_pairs(const mehari_job *of, const mehari_pair *pairs, int count)
{
  size_t length = 0;
  for (int i = 0; i < count; i++)
    length += mehari_job_text(of, pairs[i].name).length + mehari_job_text(of, pairs[i].value).length;
  return length;
}

static mehari_text text_of(const mehari_job *client, const mehari_job *path, int which, bool is_same)
{
  const mehari_job *from = is_the_clients(which, is_same) ? client : path;
  return mehari_job_text(from, from->frame->text[which]);
}

/* Makes a frame from the texts about the client in one frame and the texts about the path in
 * another. */
mehari_request *mehari_merged(const mehari_job *client, const mehari_job *path, bool is_same, bool has_body)
{
  uint16_t fields = client->frame->field_count, variables = path->frame->variable_count;
  size_t head = sizeof(mehari_request) + (size_t)(fields + variables) * sizeof(mehari_pair);
  size_t size = head + length_of_pairs(client, client->fields, fields) + length_of_pairs(path, path->variables, variables);
  for (int i = 0; i < MEHARI_TEXT_COUNT; i++)
    size += text_of(client, path, i, is_same).length;
  char *room;
  Newx(room, size, char);
  writer into = {(mehari_request *)room, head, size};
  *into.frame = *path->frame;
  into.frame->field_count = fields;
  into.frame->request_id = client->frame->request_id;
  into.frame->server_port = client->frame->server_port;
  into.frame->remote_port = client->frame->remote_port;
  into.frame->body_kind = has_body ? client->frame->body_kind : MEHARI_BODY_EMPTY;
  into.frame->body_length = has_body ? client->frame->body_length : 0;
  into.frame->body = (mehari_span){0, 0};
  for (int i = 0; i < MEHARI_TEXT_COUNT; i++)
    into.frame->text[i] = put(&into, text_of(client, path, i, is_same));
  mehari_pair *pairs = (mehari_pair *)(into.frame + 1);
  put_pairs(&into, pairs, client, client->fields, fields);
  put_pairs(&into, pairs + fields, path, path->variables, variables);
  into.frame->length = into.at;
  return into.frame;
}

enum { QUESTION_PARTS = 7 };

/* Makes the parts of the payload that says what is in question. They last as long as the texts of
 * the question and the mortals. False: the question cannot be asked. */
static bool compose(pTHX_ mehari_rec *like, const mehari_question *question, mehari_text *parts)
{
  static const mehari_text get = {"GET", 3}, nothing = {"", 0}, stop = {"", 1};
  mehari_text method = question->method.length ? question->method : get, file = question->file ? *question->file : nothing;
  mehari_text handed_on = mehari_text_of(aTHX_ mehari_rec_handed_on(aTHX_ like, question));
  bool hands_on = handed_on.length;
  const mehari_text all[QUESTION_PARTS] = {method, stop, question->target, question->file || hands_on ? stop : nothing, file, hands_on ? stop : nothing, handed_on};
  Copy(all, parts, QUESTION_PARTS, mehari_text);
  size_t length = method.length + question->target.length + file.length + handed_on.length + 3 + sizeof(mehari_page_step);
  return length <= MEHARI_RECORD_LIMIT && !memchr(method.at, '\0', method.length) && !memchr(question->target.at, '\0', question->target.length);
}

mehari_request *mehari_lookup(mehari_rec *like, const mehari_question *question)
{
  dTHX;
  mehari_text parts[QUESTION_PARTS];
  if (!compose(aTHX_ like, question, parts))
    return NULL;
  const mehari_request *answer = mehari_ask(like->job.frame->server, parts, QUESTION_PARTS);
  if (!answer)
    return NULL;
  mehari_job path = {.frame = answer, .base = (const char *)answer, .fields = (const mehari_pair *)(answer + 1)};
  path.variables = path.fields + answer->field_count;
  return mehari_merged(&like->job, &path, question->is_same, question->is_same || question->has_body);
}

mehari_text mehari_begin_page(pTHX_ mehari_rec *page, mehari_page_step step)
{
  bool responds = step.kind == MEHARI_PAGE_RESPOND;
  mehari_text file = mehari_text_of(aTHX_ responds ? page->chosen_file : mehari_rec_text(aTHX_ page, MEHARI_REC_FILENAME));
  SV *path = responds ? mehari_rec_found_at(aTHX_ page) : mehari_rec_target(aTHX_ mehari_rec_text(aTHX_ page, MEHARI_REC_URI), mehari_rec_text(aTHX_ page, MEHARI_REC_ARGS));
  mehari_text target = mehari_text_of(aTHX_ path);
  mehari_text parts[1 + QUESTION_PARTS] = {{(const char *)&step, sizeof step}};
  mehari_question question = {
    .method = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ page, MEHARI_REC_METHOD)),
    .target = target.length && *target.at == '/' ? target : (mehari_text){"/", 1}, /* a file that no path leads to */
    .file = responds && !file.length ? NULL : &file, /* NULL: the front maps the path */
    .is_sub = true,
    .user = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ page, MEHARI_REC_USER)),
  };
  if (!compose(aTHX_ page, &question, parts + 1) || memchr(file.at, '\0', file.length))
    return (mehari_text){"", 0};
  return mehari_ask_page(page->job.frame->server, parts, 1 + QUESTION_PARTS);
}
