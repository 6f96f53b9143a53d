/* Sub-requests. The front resolves a sub-request, the phases check its access, and its body follows
 * the output printed so far. */
#include "phases/phases.h"
#include "phases/settings.h"
#include "api/api.h"
#include "environment/environment.h"
#include "environment/parts.h"
#include "mailbox/mailbox.h"
#include "psgi/psgi.h"
#include "request/record.h"
#include "response/response.h"
#include "script/script.h"
#include "trace/trace.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int mehari_subrequests_running;

/* Whether a variable is of one path only: a CGI variable of the request. */
static bool is_of_path(pTHX_ const mehari_entry *entry)
{
  static const char *const more[] = {"PATH_INFO", "PATH_TRANSLATED", "CONTENT_LENGTH", "CONTENT_TYPE"};
  if (!strncmp(entry->name, "HTTP_", 5))
    return true;
  for (size_t i = 0; i < C_ARRAY_LENGTH(more); i++)
    if (strEQ(entry->name, more[i]))
      return true;
  return mehari_is_fixed(aTHX_ newSVpvn_flags(entry->name, entry->name_length, SVs_TEMP));
}

/* Gives a sub-request the variables of the request within which it is made. As in Apache, its own
 * variables win, and its changes are for itself. */
static void inherit_variables(pTHX_ mehari_rec *sub)
{
  mehari_table *from = mehari_rec_table(sub->main, MEHARI_TABLE_SUBPROCESS_ENV), *into = mehari_rec_table(sub, MEHARI_TABLE_SUBPROCESS_ENV);
  for (int i = 0; i < from->count; i++) {
    const mehari_entry *entry = &from->entries[i];
    mehari_text name = {entry->name, entry->name_length};
    if (!mehari_table_find(into, name) && !is_of_path(aTHX_ entry))
      mehari_table_add(into, name, (mehari_text){entry->value, entry->value_length});
  }
}

/* Gives a sub-request the fields of another request, as handlers have left them. As in Apache, a
 * sub-request has no fields about a body. */
static void inherit_fields(mehari_rec *sub, mehari_rec *other)
{
  static const char *const of_body[] = {"Content-Encoding", "Content-Language", "Content-Length", "Content-Location", "Content-MD5",
                                        "Content-Range",    "Content-Type",     "Expires",        "Last-Modified"};
  static const mehari_text length = {"Content-Length", 14}, coding = {"Transfer-Encoding", 17};
  const mehari_table *from = mehari_rec_table(other, MEHARI_TABLE_HEADERS_IN);
  mehari_table *into = mehari_rec_table(sub, MEHARI_TABLE_HEADERS_IN);
  mehari_table_clear(into);
  for (int i = 0; i < from->count; i++)
    mehari_table_add(into, (mehari_text){from->entries[i].name, from->entries[i].name_length}, (mehari_text){from->entries[i].value, from->entries[i].value_length});
  bool has_body = mehari_table_find(from, length) || mehari_table_find(from, coding);
  for (size_t i = 0; has_body && i < C_ARRAY_LENGTH(of_body); i++)
    mehari_table_unset(into, (mehari_text){of_body[i], strlen(of_body[i])});
}

static mehari_rec *new_sub(pTHX_ mehari_request *frame, mehari_rec *main)
{
  mehari_rec *sub = mehari_rec_new(aTHX_ frame);
  sub->main = main;
  sub->is_early = sub->settings && sub->settings->runs_phases;
  sub->lacks_perl_env = true;
  return sub;
}

/* Runs the phases of a sub-request before its response. `how` names it in the log. */
static void admit(pTHX_ mehari_rec *sub, const char *how, mehari_text target)
{
  mehari_rec *before = mehari_rec_now;
  mehari_rec_enter(sub);
  uint64_t start = mehari_trace_start();
  int status = mehari_rec_is_too_deep(sub->main, how, target) ? 500 : mehari_rec_admit(aTHX_ sub);
  if (status > OK)
    sub->status = status;
  mehari_trace_part(MEHARI_PART_SUBREQUEST, start, "admit the sub-request", target);
  mehari_rec_enter(before);
}

mehari_rec *mehari_rec_sub(pTHX_ mehari_rec *main, mehari_text target, const mehari_text *file, mehari_text method)
{
  mehari_request *frame = mehari_lookup(main, &(mehari_question){.method = method, .target = target, .file = file, .is_sub = true});
  if (!frame)
    return NULL;
  mehari_rec *sub = new_sub(aTHX_ frame, main);
  sub->chosen_file = file ? newSVpvn(file->at, file->length) : NULL;
  inherit_fields(sub, main);
  inherit_variables(aTHX_ sub);
  admit(aTHX_ sub, "a request made within a request", target);
  return sub;
}

/* Makes the sub-request to which another one is redirected while it runs. As in Apache, it is made
 * within the same main request, and its variables are named as after an internal redirect. */
static mehari_rec *redirected(pTHX_ mehari_rec *sub)
{
  mehari_text target = mehari_text_of(aTHX_ sub->redirect);
  mehari_text method = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ sub, MEHARI_REC_METHOD));
  mehari_request *frame = mehari_lookup(sub, &(mehari_question){.method = method, .target = target, .is_led = true, .is_sub = true});
  if (!frame)
    return NULL;
  mehari_rec *next = new_sub(aTHX_ frame, sub->main);
  next->prev = sub;
  next->is_included = sub->is_included;
  next->filtered_from = sub->filtered_from;
  inherit_fields(next, sub);
  mehari_rec_inherit(aTHX_ next, 0);
  admit(aTHX_ next, "redirected within the server", target);
  return next;
}

bool mehari_rec_become(pTHX_ mehari_rec *rec, mehari_rec *found)
{
  static const int texts[] = {MEHARI_REC_URI,  MEHARI_REC_FILENAME,     MEHARI_REC_PATH_INFO,       MEHARI_REC_ARGS,
                              MEHARI_REC_HANDLER, MEHARI_REC_CONTENT_TYPE, MEHARI_REC_CONTENT_ENCODING};
  mehari_text file = mehari_text_of(aTHX_ found->chosen_file);
  mehari_text method = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_METHOD));
  mehari_text target = mehari_job_text(&found->job, found->job.frame->text[MEHARI_TEXT_TARGET]);
  mehari_request *frame = mehari_lookup(rec, &(mehari_question){method, target, file.length ? &file : NULL, true});
  if (!frame)
    return false;
  SvREFCNT_dec(rec->chosen_file);
  rec->chosen_file = SvREFCNT_inc(found->chosen_file);
  mehari_rec_adopt(aTHX_ rec, frame);
  for (size_t i = 0; i < C_ARRAY_LENGTH(texts); i++) {
    SV *text = mehari_rec_text(aTHX_ found, texts[i]);
    if (mehari_is_changed(found, texts[i]) || mehari_is_changed(rec, texts[i]))
      mehari_rec_set_text(aTHX_ rec, texts[i], text ? text : &PL_sv_undef);
  }
  return true;
}

/* The front asks for a part of a page by itself, and another worker may have served the page. The
 * page's record is therefore made from the client's target, and has variables of the part. */
mehari_rec *mehari_rec_main(pTHX_ mehari_rec *rec)
{
  const mehari_job *part = &rec->job;
  if (rec->main || rec->page || !(part->frame->flags & MEHARI_FLAG_WITHIN))
    return rec->main ? rec->main : rec->page;
  mehari_text target = mehari_job_text(part, part->frame->text[MEHARI_TEXT_TARGET]);
  mehari_text method = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_METHOD));
  mehari_request *frame = mehari_lookup(rec, &(mehari_question){.method = method, .target = target});
  if (!frame)
    return NULL;
  rec->page = mehari_rec_new(aTHX_ frame);
  mehari_table *variables = mehari_rec_table(rec->page, MEHARI_TABLE_SUBPROCESS_ENV);
  for (int i = part->frame->set_env_count + part->frame->perl_set_env_count; i < part->frame->variable_count; i++) {
    mehari_text name = mehari_job_text(part, part->variables[i].name), value = mehari_job_text(part, part->variables[i].value);
    if (!mehari_table_find(variables, name))
      mehari_table_add(variables, name, value);
  }
  return rec->page;
}

static int print_bytes(pTHX_ mehari_rec *rec)
{
  char window[16384];
  struct stat found = {0};
  SV *name = mehari_rec_text(aTHX_ rec, MEHARI_REC_FILENAME);
  int file = name ? open(SvPV_nolen(name), O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0 || fstat(file, &found) < 0 || !S_ISREG(found.st_mode)) {
    int status = (file < 0 && errno == EACCES) || S_ISDIR(found.st_mode) ? 403 : 404;
    if (file >= 0)
      close(file);
    return status;
  }
  ssize_t got;
  while ((got = read(file, window, sizeof window)) > 0 || (got < 0 && errno == EINTR))
    if (got > 0)
      mehari_output_write(window, got);
  close(file);
  return OK;
}

/* Prints a file into the response: its bytes, or what a page with server-side includes says. As in
 * Apache, a file has no PATH_INFO, and a folder without an index is refused. */
static int print_file(pTHX_ mehari_rec *rec)
{
  if (mehari_rec_is_below_file(rec))
    return 404;
  uint8_t kind = rec->is_included ? MEHARI_PAGE_INCLUDED : MEHARI_PAGE_BEGIN;
  int printed = rec->job.frame->includes ? mehari_page_run(aTHX_ rec, kind) : MEHARI_PAGE_PLAIN;
  return printed == MEHARI_PAGE_PLAIN ? print_bytes(aTHX_ rec) : printed;
}

/* Whether the response comes from a program: a CGI program, or a script that runs in a process of
 * its own. */
static bool is_program(const mehari_rec *rec)
{
  const mehari_request *frame = rec->job.frame;
  return mehari_task_is_program(frame->task) || (frame->task == MEHARI_TASK_FRONT && frame->flags & MEHARI_FLAG_PROGRAM);
}

static int run_program(pTHX_ mehari_rec *sub)
{
  SV *file = mehari_rec_text(aTHX_ sub, MEHARI_REC_FILENAME);
  if (!file)
    return 404;
  mehari_environment_begin(aTHX);
  mehari_rec_export_variables(aTHX_ sub);
  return mehari_program_run_subrequest(aTHX_ SvPV_nolen(file));
}

static int run_within(pTHX_ mehari_rec *sub)
{
  U8 task = sub->job.frame->task;
  bool runs_in_perl = mehari_rec_runs_in_perl(aTHX_ sub, task);
  if (runs_in_perl || task == MEHARI_TASK_REGISTRY || task == MEHARI_TASK_PERLRUN)
    mehari_rec_set_perl_env(sub);
  mehari_rec_restate(aTHX_ sub);
  if (runs_in_perl) {
    mehari_rec_open_environment(aTHX_ sub);
    int status = mehari_run_phase(aTHX_ sub, MEHARI_PHASE_RESPONSE);
    return status == DECLINED ? print_file(aTHX_ sub) : status == DONE ? OK : status;
  }
  switch (task) {
  case MEHARI_TASK_REGISTRY:
  case MEHARI_TASK_PERLRUN:
    mehari_environment_begin(aTHX);
    mehari_rec_export_variables(aTHX_ sub);
    task == MEHARI_TASK_REGISTRY ? mehari_registry_serve(aTHX) : mehari_perlrun_serve(aTHX);
    return OK;
  case MEHARI_TASK_FORK:
  case MEHARI_TASK_REWIND:
  case MEHARI_TASK_AUTO:
    return run_program(aTHX_ sub);
  case MEHARI_TASK_FRONT:
    if (is_program(sub))
      return run_program(aTHX_ sub);
    return sub->job.frame->sends_file || mehari_is_changed(sub, MEHARI_REC_FILENAME) ? print_file(aTHX_ sub) : mehari_page_run(aTHX_ sub, MEHARI_PAGE_RESPOND);
  case MEHARI_TASK_PSGI:
    sub->status = mehari_psgi_run_subrequest(aTHX);
    return OK;
  default:
    return 500;
  }
}

/* Runs a sub-request at its own path. */
static int run_here(pTHX_ mehari_rec *sub)
{
  mehari_rec *before = mehari_rec_now;
  const char *phase = mehari_phase_now;
  bool has_environment = mehari_rec_option(before, MEHARI_OPTION_SETUP_ENV) || mehari_is_for_interpreter(before->job.frame);
  bool was_bare = mehari_environment_is_bare(), exit_called = mehari_exit_called;
  bool prints_head = sub->job.frame->flags & MEHARI_FLAG_PARSE_HEADERS || (is_program(sub) && !mehari_rec_runs_in_perl(aTHX_ sub, sub->job.frame->task));
  mehari_output_enter(aTHX_ prints_head);
  mehari_rec_enter(sub);
  int running = mehari_subrequests_running++;
  uint64_t start = mehari_trace_start();
  int status = sub->status >= 400 ? sub->status : run_within(aTHX_ sub);
  mehari_trace_part(MEHARI_PART_SUBREQUEST, start, "sub-request", mehari_request_text(MEHARI_TEXT_TARGET));
  int within = mehari_output_leave(aTHX_ sub);
  mehari_subrequests_running = running;
  mehari_exit_called = exit_called;
  mehari_rec_enter(before);
  mehari_phase_now = phase;
  if (has_environment && mehari_rec_option(before, MEHARI_OPTION_SETUP_ENV)) {
    mehari_environment_begin(aTHX);
    mehari_rec_export_variables(aTHX_ before);
  } else if (was_bare && !mehari_environment_is_bare())
    mehari_rec_open_environment(aTHX_ before);
  return status ? status : within;
}

int mehari_rec_run(pTHX_ mehari_rec *sub)
{
  int status = run_here(aTHX_ sub);
  if (!sub->redirect)
    return status;
  int running = mehari_subrequests_running++; /* bounds the number of redirects */
  mehari_rec *next = redirected(aTHX_ sub);
  SvREFCNT_dec(sub->redirect);
  sub->redirect = NULL;
  status = !next ? 500 : next->status >= 300 ? next->status : mehari_rec_run(aTHX_ next);
  mehari_subrequests_running = running;
  return status;
}
