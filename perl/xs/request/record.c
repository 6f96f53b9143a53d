/* `$r`: the record of the current request, of its sub-requests and of its internal redirects.
 *
 * The object is a reference to a number that names the record. If the object is used after its
 * request, the method dies and touches no other record. The methods are in Mehari.xs and in
 * api/. */
#include "request/record.h"
#include "api/form.h"
#include "interpreter/interpreter.h"
#include "environment/environment.h"
#include "mailbox/mailbox.h"
#include "phases/phases.h"
#include "phases/settings.h"

mehari_rec *mehari_rec_now;

static mehari_rec served; /* the record of each request from the front; only one exists at a time */
static mehari_rec *newest;
static UV serial;
static HV *request_stash;

void mehari_request_boot(pTHX)
{
  request_stash = gv_stashpvs("Apache2::RequestRec", GV_ADD);
}

mehari_rec *mehari_rec_begin(pTHX)
{
  served.serial = served.object ? SvUV(SvRV(served.object)) : ++serial;
  served.job = mehari_now;
  served.settings = mehari_settings_find(aTHX_ mehari_now.frame->settings_id, mehari_request_text(MEHARI_TEXT_SETTINGS));
  if (mehari_now.frame->redirect_status >= 400)
    served.status = mehari_now.frame->redirect_status;
  served.numbers[MEHARI_NUMBER_USED_PATH_INFO] = 2; /* AP_REQ_DEFAULT_PATH_INFO */
  mehari_subrequests_running = mehari_pages_running = 0;
  mehari_environment_forget_early();
  newest = mehari_rec_now = &served;
  return &served;
}

void mehari_rec_enter(mehari_rec *rec)
{
  mehari_rec_now = rec;
  mehari_now = rec->job;
}

static void forget_text(pTHX_ mehari_rec *rec, int which)
{
  SvREFCNT_dec(rec->texts[which]);
  rec->texts[which] = NULL;
  rec->changed &= ~(1u << which);
}

void mehari_rec_adopt(pTHX_ mehari_rec *rec, mehari_request *frame)
{
  static const int of_the_path[] = {MEHARI_REC_URI, MEHARI_REC_FILENAME, MEHARI_REC_PATH_INFO, MEHARI_REC_HANDLER};
  mehari_job_read(&rec->job, frame);
  rec->settings = mehari_settings_find(aTHX_ frame->settings_id, mehari_job_text(&rec->job, frame->text[MEHARI_TEXT_SETTINGS]));
  for (size_t i = 0; i < C_ARRAY_LENGTH(of_the_path); i++)
    forget_text(aTHX_ rec, of_the_path[i]);
  /* The texts may come from the earlier frame, so it is freed only here. */
  Safefree(rec->own_frame);
  rec->own_frame = frame;
  rec->is_at_place = false;
  if (rec == mehari_rec_now)
    mehari_now = rec->job;
}

mehari_rec *mehari_rec_new(pTHX_ mehari_request *frame)
{
  mehari_rec *rec;
  Newxz(rec, 1, mehari_rec);
  rec->serial = ++serial;
  rec->job.body_file = -1;
  rec->numbers[MEHARI_NUMBER_USED_PATH_INFO] = 2; /* AP_REQ_DEFAULT_PATH_INFO */
  mehari_rec_adopt(aTHX_ rec, frame);
  rec->older = newest;
  newest = rec;
  return rec;
}

SV *mehari_rec_object(pTHX_ mehari_rec *rec)
{
  if (!rec->object)
    rec->object = sv_bless(newRV_noinc(newSVuv(rec->serial)), request_stash);
  return rec->object;
}

/* Returns the name of the method or sub that is being called. NULL: unknown. */
static const char *called(pTHX)
{
  if (!PL_op || PL_op->op_type != OP_ENTERSUB || !(PL_op->op_flags & OPf_KIDS))
    return NULL;
  OP *last = cUNOPx(PL_op)->op_first;
  if (!OpHAS_SIBLING(last))
    last = last->op_flags & OPf_KIDS ? cUNOPx(last)->op_first : last;
  while (OpHAS_SIBLING(last))
    last = OpSIBLING(last);
  if (last->op_type == OP_METHOD_NAMED)
    return SvPV_nolen(cMETHOPx_meth(last));
  if (!(last->op_flags & OPf_KIDS) || cUNOPx(last)->op_first->op_type != OP_GV)
    return NULL;
  GV *name = cGVOPx_gv(cUNOPx(last)->op_first);
  return isGV(name) ? GvNAME(name) : NULL;
}

mehari_rec *mehari_rec_of(pTHX_ SV *self)
{
  SV *inner = SvROK(self) ? SvRV(self) : self;
  if (SvROK(self) && SvTYPE(inner) == SVt_PVHV) { /* a subclass that wraps an object */
    SV **held = hv_fetchs((HV *)inner, "r", 0);
    if (!held)
      held = hv_fetchs((HV *)inner, "_r", 0);
    if (!held) {
      const char *name = called(aTHX);
      croak("method `%s' invoked by a `%s' object with no `r' key!", name ? name : "of $r", sv_isobject(self) ? sv_reftype(inner, true) : "unknown");
    }
    return mehari_rec_of(aTHX_ *held);
  }
  if (!SvROK(self) || !sv_derived_from(self, "Apache2::RequestRec"))
    croak("argument is not an Apache2::RequestRec object");
  UV wanted = SvUV(inner);
  if (mehari_in_thread(aTHX))
    croak("this Apache2::RequestRec object belongs to the thread that serves its request, not to a script's thread");
  if (mehari_serving)
    for (mehari_rec *rec = newest; rec; rec = rec->older)
      if (rec->serial == wanted)
        return rec;
  croak("the request of this Apache2::RequestRec object has ended");
}

/* ---- tables ---- */

/* Whether `PerlSetEnv` has set this variable of a frame. */
static bool is_perl_env(const mehari_request *frame, int at) { return at >= frame->set_env_count && at < frame->set_env_count + frame->perl_set_env_count; }

mehari_table *mehari_rec_table(mehari_rec *rec, int which)
{
  mehari_held_table *held = &rec->tables[which];
  if (!held->table)
    held->table = mehari_table_new();
  if (held->is_filled)
    return held->table;
  held->is_filled = true;
  const mehari_job *job = &rec->job;
  int count = which == MEHARI_TABLE_HEADERS_IN ? job->frame->field_count : which == MEHARI_TABLE_SUBPROCESS_ENV ? job->frame->variable_count : 0;
  const mehari_pair *pairs = which == MEHARI_TABLE_HEADERS_IN ? job->fields : job->variables;
  bool waits = which == MEHARI_TABLE_SUBPROCESS_ENV && rec->is_early;
  for (int i = waits ? job->frame->set_env_count : 0; i < count; i++) {
    if (which == MEHARI_TABLE_SUBPROCESS_ENV && rec->lacks_perl_env && is_perl_env(job->frame, i))
      continue;
    mehari_text name = mehari_job_text(job, pairs[i].name), value = mehari_job_text(job, pairs[i].value);
    /* The values of a repeated field become one value, as in Apache. Cookies have another
     * separator (RFC 9113 section 8.2.3). */
    if (which == MEHARI_TABLE_HEADERS_IN)
      mehari_table_merge(held->table, name, value, name.length == 6 && !strncasecmp(name.at, "Cookie", 6) ? "; " : ", ");
    else
      mehari_table_add(held->table, name, value);
  }
  return held->table;
}

void mehari_rec_set_perl_env(mehari_rec *rec)
{
  const mehari_job *job = &rec->job;
  if (!rec->lacks_perl_env)
    return;
  rec->lacks_perl_env = false;
  mehari_table *table = mehari_rec_table(rec, MEHARI_TABLE_SUBPROCESS_ENV);
  for (int i = job->frame->set_env_count; is_perl_env(job->frame, i) && i < job->frame->variable_count; i++)
    mehari_table_set(table, mehari_job_text(job, job->variables[i].name), mehari_job_text(job, job->variables[i].value));
}

void mehari_rec_open_phases(mehari_rec *rec) { rec->is_early = true; }

void mehari_rec_close_phases(pTHX_ mehari_rec *rec)
{
  const mehari_job *job = &rec->job;
  if (!rec->is_early)
    return;
  rec->is_early = false;
  if (rec == mehari_rec_now && !rec->main)
    mehari_environment_note_early(aTHX);
  if (!rec->tables[MEHARI_TABLE_SUBPROCESS_ENV].is_filled)
    return;
  mehari_table *table = mehari_rec_table(rec, MEHARI_TABLE_SUBPROCESS_ENV);
  for (int i = 0; i < job->frame->set_env_count && i < job->frame->variable_count; i++)
    mehari_table_set(table, mehari_job_text(job, job->variables[i].name), mehari_job_text(job, job->variables[i].value));
}

SV *mehari_rec_table_object(pTHX_ mehari_rec *rec, int which)
{
  mehari_table *table = mehari_rec_table(rec, which);
  if (!rec->tables[which].object)
    rec->tables[which].object = mehari_table_object(aTHX_ table);
  return newSVsv(rec->tables[which].object);
}

/* ---- handlers pushed at run time ---- */

AV *mehari_rec_own_handlers(pTHX_ mehari_rec *rec, int phase)
{
  if (!rec->handlers[phase]) {
    AV *configured = mehari_rec_handlers(rec, phase);
    rec->handlers[phase] = newAV();
    rec->has_handlers = true;
    for (SSize_t i = 0; configured && i <= av_top_index(configured); i++)
      av_push(rec->handlers[phase], SvREFCNT_inc_NN(AvARRAY(configured)[i]));
  }
  return rec->handlers[phase];
}

int mehari_rec_phase(pTHX_ SV *name)
{
  STRLEN length;
  const char *text = SvPV(name, length);
  int phase = mehari_phase_named(text, length);
  if (phase < 0)
    mehari_logf(MEHARI_LOG_WARN, "there are no handlers called `%s`", text); /* mod_perl says nothing at all */
  return phase;
}

static void push_one(pTHX_ AV *list, SV *handler)
{
  if (SvROK(handler) ? SvTYPE(SvRV(handler)) != SVt_PVCV : !SvOK(handler))
    croak("a handler is a name or code, not %s", SvROK(handler) ? sv_reftype(SvRV(handler), 0) : "undef");
  av_push(list, newSVsv(handler));
}

bool mehari_rec_stack(pTHX_ mehari_rec *rec, SV *name, SV *handlers, bool anew)
{
  int phase = mehari_rec_phase(aTHX_ name);
  if (phase < 0)
    return false;
  AV *list = mehari_rec_own_handlers(aTHX_ rec, phase);
  if (anew)
    av_clear(list);
  if (SvROK(handlers) && SvTYPE(SvRV(handlers)) == SVt_PVAV)
    for (SSize_t i = 0; i <= av_top_index((AV *)SvRV(handlers)); i++)
      push_one(aTHX_ list, AvARRAY((AV *)SvRV(handlers))[i]);
  else if (SvOK(handlers) || !anew)
    push_one(aTHX_ list, handlers);
  return true;
}

/* ---- the end ---- */

static void forget(pTHX_ SV **held)
{
  SvREFCNT_dec(*held);
  *held = NULL;
}

/* Keeps a table for the next request, if no other reference to it exists. */
static void forget_table(pTHX_ mehari_held_table *held)
{
  held->is_filled = false;
  if (held->object && mehari_table_is_unshared(aTHX_ held->object)) {
    mehari_table_clear(held->table);
    return;
  }
  SvREFCNT_dec(held->object);
  mehari_table_release(held->table);
  *held = (mehari_held_table){NULL, NULL, false};
}

static void clear(pTHX_ mehari_rec *rec)
{
  for (U32 held = rec->held; held; held &= held - 1)
    forget(aTHX_ &rec->texts[__builtin_ctz(held)]);
  rec->held = 0;
  for (int i = 0; i < MEHARI_TABLE_COUNT; i++)
    if (rec->tables[i].table)
      forget_table(aTHX_ &rec->tables[i]);
  for (int i = 0; rec->has_handlers && i < MEHARI_PHASE_COUNT; i++)
    if (rec->handlers[i])
      forget(aTHX_ (SV **)&rec->handlers[i]);
  rec->has_handlers = false;
  forget(aTHX_ (SV **)&rec->cleanups);
  forget(aTHX_ (SV **)&rec->pnotes);
  forget(aTHX_ (SV **)&rec->slots);
  Zero(rec->numbers, MEHARI_NUMBER_COUNT, IV);
  forget(aTHX_ (SV **)&rec->documents);
  forget(aTHX_ &rec->redirect);
  forget(aTHX_ &rec->chosen_file);
  forget(aTHX_ &rec->user_reported);
  Safefree((mehari_request *)rec->merged.frame);
  Zero(&rec->merged, 1, mehari_job);
  mehari_rec_forget_restated(rec);
  Safefree(rec->own_frame);
  rec->own_frame = NULL;
  rec->is_at_place = rec->is_untranslated = rec->is_unmapped = rec->is_at_folder = rec->is_for_index = false;
  rec->changed = 0;
  rec->status = 0;
  rec->is_admitted = rec->is_early = rec->lacks_perl_env = rec->is_merged = rec->is_unmerged = rec->listens = rec->has_outcome = rec->is_announced = rec->is_type_of_filter = false;
}

mehari_rec *mehari_rec_newest(void) { return newest; }

void mehari_rec_end_newer(pTHX_ const mehari_rec *than)
{
  while (newest && newest != than) {
    mehari_rec *gone = newest;
    newest = gone->older;
    clear(aTHX_ gone);
    for (int i = 0; i < MEHARI_TABLE_COUNT; i++)
      if (gone->tables[i].table) {
        SvREFCNT_dec(gone->tables[i].object);
        mehari_table_release(gone->tables[i].table);
      }
    forget(aTHX_ &gone->object);
    Safefree(gone);
  }
}

void mehari_request_drop(pTHX)
{
  mehari_rec_end_newer(aTHX_ &served);
  newest = mehari_rec_now = NULL;
  mehari_form_forget(aTHX);
  SV *object = served.object;
  /* An object without other references is used again, because it contains only the record's
   * number. */
  if (object && (SvREFCNT(object) > 1 || SvREFCNT(SvRV(object)) > 1 || SvSTASH(SvRV(object)) != request_stash))
    forget(aTHX_ &served.object);
  else if (object)
    sv_setuv(SvRV(object), ++serial);
  served.prev = served.next = served.recalled = served.page = NULL;
  served.settings = NULL;
  clear(aTHX_ &served);
}

/* Returns the record that makes the head of the response. For a sub-request this is its main
 * request's record. */
mehari_rec *mehari_rec_of_head(void)
{
  mehari_rec *rec = mehari_rec_now ? mehari_rec_now : &served;
  while (rec->main)
    rec = rec->main;
  return rec;
}
