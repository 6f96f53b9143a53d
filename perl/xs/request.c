/* `$r`: what the worker knows of the request it serves, and of those that are part of it.
 *
 * The object is a reference to a number that names the record; used after its request it dies rather
 * than touch another's. The methods are in Mehari.xs and in the files of the API.
 */
#include "api_form.h"

mehari_rec *mehari_rec_now;

static mehari_rec served; /* the request the front sent: the record is the same for all, one at a time */
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
  newest = mehari_rec_now = &served;
  return &served;
}

void mehari_rec_enter(mehari_rec *rec)
{
  mehari_rec_now = rec;
  mehari_now = rec->job;
}

static mehari_text sent(const mehari_rec *rec, int which) { return mehari_job_text(&rec->job, rec->job.frame->text[which]); }

static void forget_text(pTHX_ mehari_rec *rec, int which)
{
  SvREFCNT_dec(rec->texts[which]);
  rec->texts[which] = NULL;
  rec->changed &= ~(1u << which);
}

void mehari_rec_adopt(pTHX_ mehari_rec *rec, mehari_request *frame)
{
  static const int of_the_path[] = {MEHARI_REC_URI, MEHARI_REC_FILENAME, MEHARI_REC_PATH_INFO, MEHARI_REC_HANDLER};
  rec->job.frame = frame;
  rec->job.base = (const char *)frame;
  rec->job.fields = (const mehari_pair *)(frame + 1);
  rec->job.variables = rec->job.fields + frame->field_count;
  rec->settings = mehari_settings_find(aTHX_ frame->settings_id, sent(rec, MEHARI_TEXT_SETTINGS));
  for (size_t i = 0; i < C_ARRAY_LENGTH(of_the_path); i++)
    forget_text(aTHX_ rec, of_the_path[i]);
  /* The frame before may be read until here. */
  Safefree(rec->own_frame);
  rec->own_frame = frame;
  if (rec == mehari_rec_now)
    mehari_now = rec->job;
}

mehari_rec *mehari_rec_new(pTHX_ mehari_request *frame)
{
  mehari_rec *rec;
  Newxz(rec, 1, mehari_rec);
  rec->serial = ++serial;
  rec->job.body_file = -1;
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

/* What the operator that runs calls: the name of a method, or of a sub; NULL: it cannot be told. */
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
  if (SvROK(self) && SvTYPE(inner) == SVt_PVHV) { /* a subclass that wraps one */
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
  if (mehari_serving)
    for (mehari_rec *rec = newest; rec; rec = rec->older)
      if (rec->serial == wanted)
        return rec;
  croak("this Apache2::RequestRec object is of a request that has ended");
}

/* ---- texts ---- */

static SV *copy(pTHX_ mehari_text text) { return newSVpvn(text.at, text.length); }

static SV *joined(pTHX_ mehari_text first, mehari_text second)
{
  SV *text = copy(aTHX_ first);
  sv_catpvn(text, second.at, second.length);
  return text;
}

/* The file of a handler is the path it was mapped to, without what is PATH_INFO of it. */
static SV *file_name(pTHX_ const mehari_rec *rec)
{
  mehari_text file = sent(rec, MEHARI_TEXT_FILE), info = sent(rec, MEHARI_TEXT_PATH_INFO);
  if (!file.length)
    return copy(aTHX_ sent(rec, MEHARI_TEXT_TASK));
  if (info.length && file.length > info.length && memEQ(file.at + file.length - info.length, info.at, info.length))
    file.length -= info.length;
  return copy(aTHX_ file);
}

static SV *the_request(pTHX_ const mehari_rec *rec)
{
  mehari_text method = sent(rec, MEHARI_TEXT_METHOD), target = sent(rec, MEHARI_TEXT_TARGET),
              protocol = sent(rec, MEHARI_TEXT_PROTOCOL);
  return newSVpvf("%.*s %.*s %.*s", (int)method.length, method.at, (int)target.length, target.at, (int)protocol.length, protocol.at);
}

/* As `SetHandler` would have to say it. */
static const char *handler_name(const mehari_rec *rec)
{
  switch (rec->job.frame->task) {
  case MEHARI_TASK_HANDLER:
    return rec->job.frame->flags & MEHARI_FLAG_PERL_SCRIPT ? "perl-script" : "modperl";
  case MEHARI_TASK_REGISTRY:
  case MEHARI_TASK_PERLRUN:
  case MEHARI_TASK_FORK:
    return "perl-script";
  case MEHARI_TASK_PSGI:
    return "psgi";
  default:
    return "default-handler";
  }
}

/* What the front says by a variable. */
static mehari_text variable(const mehari_rec *rec, const char *name)
{
  for (int i = 0; i < rec->job.frame->variable_count; i++) {
    mehari_text known = mehari_job_text(&rec->job, rec->job.variables[i].name);
    if (known.length == strlen(name) && memEQ(known.at, name, known.length))
      return mehari_job_text(&rec->job, rec->job.variables[i].value);
  }
  return (mehari_text){"", 0};
}

static SV *as_sent(pTHX_ const mehari_rec *rec, int which)
{
  mehari_text text;
  switch (which) {
  case MEHARI_REC_URI:
    return joined(aTHX_ sent(rec, MEHARI_TEXT_SCRIPT_NAME), sent(rec, MEHARI_TEXT_PATH_INFO));
  case MEHARI_REC_FILENAME:
    return file_name(aTHX_ rec);
  case MEHARI_REC_PATH_INFO:
    return copy(aTHX_ sent(rec, MEHARI_TEXT_PATH_INFO));
  case MEHARI_REC_ARGS:
    text = sent(rec, MEHARI_TEXT_QUERY);
    return text.length ? copy(aTHX_ text) : NULL;
  case MEHARI_REC_METHOD:
    return copy(aTHX_ sent(rec, MEHARI_TEXT_METHOD));
  case MEHARI_REC_PROTOCOL:
    return copy(aTHX_ sent(rec, MEHARI_TEXT_PROTOCOL));
  case MEHARI_REC_UNPARSED_URI:
    return copy(aTHX_ sent(rec, MEHARI_TEXT_TARGET));
  case MEHARI_REC_HOSTNAME:
    return copy(aTHX_ sent(rec, MEHARI_TEXT_SERVER_NAME));
  case MEHARI_REC_THE_REQUEST:
    return the_request(aTHX_ rec);
  case MEHARI_REC_CONTENT_TYPE:
    text = sent(rec, MEHARI_TEXT_MEDIA_TYPE);
    return text.length ? copy(aTHX_ text) : NULL;
  case MEHARI_REC_USER:
    text = variable(rec, "REMOTE_USER");
    return text.length ? copy(aTHX_ text) : NULL;
  case MEHARI_REC_AUTH_TYPE:
    text = variable(rec, "AUTH_TYPE");
    return text.length ? copy(aTHX_ text) : NULL;
  case MEHARI_REC_HANDLER:
    return newSVpv(handler_name(rec), 0);
  default:
    return NULL;
  }
}

SV *mehari_rec_text(pTHX_ mehari_rec *rec, int which)
{
  if (!rec->texts[which] && !(rec->changed & (1u << which)))
    rec->texts[which] = as_sent(aTHX_ rec, which);
  rec->held |= 1u << which;
  return rec->texts[which];
}

/* Once the response is made, what makes it is settled: the two have other worlds. */
static void check_switch(pTHX_ mehari_rec *rec, SV *value)
{
  SV *now = mehari_rec_text(aTHX_ rec, MEHARI_REC_HANDLER);
  const char *old = now ? SvPV_nolen(now) : "", *new = value && SvOK(value) ? SvPV_nolen(value) : "";
  bool is_ours = strEQ(new, "modperl") || strEQ(new, "perl-script");
  if (is_ours && (strEQ(old, "modperl") || strEQ(old, "perl-script")) && strNE(old, new))
    croak("Can't switch from '%s' to '%s' response handler", old, new);
}

void mehari_rec_set_text(pTHX_ mehari_rec *rec, int which, SV *value)
{
  if (which == MEHARI_REC_HANDLER && mehari_phase_now == mehari_phases[MEHARI_PHASE_RESPONSE].name)
    check_switch(aTHX_ rec, value);
  rec->changed |= 1u << which;
  rec->held |= 1u << which;
  if (value && !SvOK(value))
    value = NULL;
  if (value && rec->texts[which])
    sv_setsv(rec->texts[which], value);
  else {
    SvREFCNT_dec(rec->texts[which]);
    rec->texts[which] = value ? newSVsv(value) : NULL;
  }
}

/* ---- tables ---- */

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
  for (int i = 0; i < count; i++) {
    mehari_text name = mehari_job_text(job, pairs[i].name), value = mehari_job_text(job, pairs[i].value);
    /* A field that is there twice is one, as in Apache; cookies have a separator of their own (RFC 9113, 8.2.3). */
    if (which == MEHARI_TABLE_HEADERS_IN)
      mehari_table_merge(held->table, name, value, name.length == 6 && !strncasecmp(name.at, "Cookie", 6) ? "; " : ", ");
    else
      mehari_table_add(held->table, name, value);
  }
  return held->table;
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
    croak("there are no handlers called `%s`", text);
  return phase;
}

static void push_one(pTHX_ AV *list, SV *handler)
{
  if (SvROK(handler) ? SvTYPE(SvRV(handler)) != SVt_PVCV : !SvOK(handler))
    croak("a handler is a name or code, not %s", SvROK(handler) ? sv_reftype(SvRV(handler), 0) : "undef");
  av_push(list, newSVsv(handler));
}

void mehari_rec_stack(pTHX_ mehari_rec *rec, SV *name, SV *handlers, bool anew)
{
  int phase = mehari_rec_phase(aTHX_ name);
  AV *list = mehari_rec_own_handlers(aTHX_ rec, phase);
  if (anew)
    av_clear(list);
  if (SvROK(handlers) && SvTYPE(SvRV(handlers)) == SVt_PVAV)
    for (SSize_t i = 0; i <= av_top_index((AV *)SvRV(handlers)); i++)
      push_one(aTHX_ list, AvARRAY((AV *)SvRV(handlers))[i]);
  else if (SvOK(handlers) || !anew)
    push_one(aTHX_ list, handlers);
}

/* ---- the end ---- */

static void forget(pTHX_ SV **held)
{
  SvREFCNT_dec(*held);
  *held = NULL;
}

/* A table nobody kept serves again. */
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
  Safefree(rec->own_frame);
  rec->own_frame = NULL;
  rec->changed = 0;
  rec->status = 0;
}

void mehari_request_drop(pTHX)
{
  while (newest && newest != &served) {
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
  newest = mehari_rec_now = NULL;
  mehari_form_forget(aTHX);
  SV *object = served.object;
  /* One nobody kept serves again: its number is the only thing in it. */
  if (object && (SvREFCNT(object) > 1 || SvREFCNT(SvRV(object)) > 1 || SvSTASH(SvRV(object)) != request_stash))
    forget(aTHX_ &served.object);
  else if (object)
    sv_setuv(SvRV(object), ++serial);
  served.prev = served.next = NULL;
  served.settings = NULL;
  clear(aTHX_ &served);
}

/* ---- the response head ---- */

/* Those called `only`, or all. */
static void add_pairs(const mehari_table *table, const char *only)
{
  for (int i = 0; table && i < table->count; i++) {
    const mehari_entry *entry = &table->entries[i];
    if (!only || !strcasecmp(only, entry->name))
      mehari_head_add(&mehari_response, entry->name, entry->name_length, entry->value, entry->value_length);
  }
}

static void add_text_line(pTHX_ mehari_rec *rec, int which, const char *name)
{
  STRLEN length;
  SV *value = mehari_rec_text(aTHX_ rec, which);
  const char *text = value ? SvPV(value, length) : NULL;
  if (text)
    mehari_head_add(&mehari_response, name, strlen(name), text, length);
}

/* What the methods content_type and content_encoding say takes the place of a field of that name, as in Apache. */
static void add_own_lines(pTHX_ mehari_rec *rec)
{
  static const struct {
    int which;
    const char *name;
  } own[] = {{MEHARI_REC_CONTENT_TYPE, "Content-Type"}, {MEHARI_REC_CONTENT_ENCODING, "Content-Encoding"}};
  for (int i = 0; i < 2; i++) {
    SV *value = mehari_rec_text(aTHX_ rec, own[i].which);
    if (!value || !SvOK(value))
      continue;
    if (mehari_response.length)
      mehari_head_replace(&mehari_response, own[i].name, strlen(own[i].name));
    add_text_line(aTHX_ rec, own[i].which, own[i].name);
  }
}

static void add_tables(mehari_rec *rec)
{
  add_pairs(rec->tables[MEHARI_TABLE_HEADERS_OUT].table, NULL);
  add_pairs(rec->tables[MEHARI_TABLE_ERR_HEADERS_OUT].table, NULL);
}

/* Whose head it is: a sub-request's is its main request's. */
static mehari_rec *answering(void)
{
  mehari_rec *rec = mehari_rec_now ? mehari_rec_now : &served;
  while (rec->main)
    rec = rec->main;
  return rec;
}

void mehari_request_fill_head(pTHX)
{
  mehari_rec *rec = answering();
  mehari_response.status = rec->status;
  add_tables(rec);
  add_own_lines(aTHX_ rec);
}

void mehari_request_complete_head(pTHX)
{
  PERL_UNUSED_CONTEXT;
  mehari_rec *rec = answering();
  if (!mehari_response.status)
    mehari_response.status = rec->status;
  add_tables(rec);
}

/* A page of the front's has its own type and length: of what the handlers set, what is meant for errors,
 * and where a redirect goes. */
void mehari_rec_add_error_head(mehari_rec *rec, int status)
{
  if (!status)
    add_pairs(rec->tables[MEHARI_TABLE_HEADERS_OUT].table, NULL);
  else if (status >= 300 && status < 400)
    add_pairs(rec->tables[MEHARI_TABLE_HEADERS_OUT].table, "Location");
  if (status && rec->numbers[MEHARI_NUMBER_NO_CACHE])
    add_pairs(rec->tables[MEHARI_TABLE_HEADERS_OUT].table, "Expires");
  add_pairs(rec->tables[MEHARI_TABLE_ERR_HEADERS_OUT].table, NULL);
}

SV *mehari_rec_document(pTHX_ mehari_rec *rec, int status)
{
  char digits[12];
  int length = snprintf(digits, sizeof digits, "%d", status);
  HV *const places[] = {rec->documents, rec->settings ? rec->settings->documents : NULL};
  for (size_t i = 0; i < C_ARRAY_LENGTH(places); i++) {
    SV **found = places[i] ? hv_fetch(places[i], digits, length, 0) : NULL;
    if (found && SvOK(*found))
      return *found;
  }
  return NULL;
}
