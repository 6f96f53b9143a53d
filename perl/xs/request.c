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
  served.settings = mehari_settings_find(aTHX_ mehari_now.frame->settings_id, mehari_request_text(MEHARI_TEXT_SETTINGS));
  newest = mehari_rec_now = &served;
  return &served;
}

SV *mehari_rec_object(pTHX_ mehari_rec *rec)
{
  if (!rec->object)
    rec->object = sv_bless(newRV_noinc(newSVuv(rec->serial)), request_stash);
  return rec->object;
}

mehari_rec *mehari_rec_of(pTHX_ SV *self)
{
  if (!SvROK(self) || !sv_derived_from(self, "Apache2::RequestRec"))
    croak("argument is not an Apache2::RequestRec object");
  SV *inner = SvRV(self);
  if (SvTYPE(inner) == SVt_PVHV) { /* a subclass that wraps one */
    SV **held = hv_fetchs((HV *)inner, "r", 0);
    if (!held)
      held = hv_fetchs((HV *)inner, "_r", 0);
    if (!held)
      croak("the object has no `r` or `_r` that holds an Apache2::RequestRec");
    return mehari_rec_of(aTHX_ *held);
  }
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
static SV *file_name(pTHX)
{
  mehari_text file = mehari_request_text(MEHARI_TEXT_FILE), info = mehari_request_text(MEHARI_TEXT_PATH_INFO);
  if (!file.length)
    return copy(aTHX_ mehari_request_text(MEHARI_TEXT_TASK));
  if (info.length && file.length > info.length && memEQ(file.at + file.length - info.length, info.at, info.length))
    file.length -= info.length;
  return copy(aTHX_ file);
}

static SV *the_request(pTHX)
{
  mehari_text method = mehari_request_text(MEHARI_TEXT_METHOD), target = mehari_request_text(MEHARI_TEXT_TARGET),
              protocol = mehari_request_text(MEHARI_TEXT_PROTOCOL);
  return newSVpvf("%.*s %.*s %.*s", (int)method.length, method.at, (int)target.length, target.at, (int)protocol.length, protocol.at);
}

/* As `SetHandler` would have to say it. */
static const char *handler_name(void)
{
  switch (mehari_now.frame->task) {
  case MEHARI_TASK_HANDLER:
    return mehari_now.frame->flags & MEHARI_FLAG_PERL_SCRIPT ? "perl-script" : "modperl";
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

static SV *as_sent(pTHX_ int which)
{
  mehari_text text;
  switch (which) {
  case MEHARI_REC_URI:
    return joined(aTHX_ mehari_request_text(MEHARI_TEXT_SCRIPT_NAME), mehari_request_text(MEHARI_TEXT_PATH_INFO));
  case MEHARI_REC_FILENAME:
    return file_name(aTHX);
  case MEHARI_REC_PATH_INFO:
    return copy(aTHX_ mehari_request_text(MEHARI_TEXT_PATH_INFO));
  case MEHARI_REC_ARGS:
    text = mehari_request_text(MEHARI_TEXT_QUERY);
    return text.length ? copy(aTHX_ text) : NULL;
  case MEHARI_REC_METHOD:
    return copy(aTHX_ mehari_request_text(MEHARI_TEXT_METHOD));
  case MEHARI_REC_PROTOCOL:
    return copy(aTHX_ mehari_request_text(MEHARI_TEXT_PROTOCOL));
  case MEHARI_REC_UNPARSED_URI:
    return copy(aTHX_ mehari_request_text(MEHARI_TEXT_TARGET));
  case MEHARI_REC_HOSTNAME:
    return copy(aTHX_ mehari_request_text(MEHARI_TEXT_SERVER_NAME));
  case MEHARI_REC_THE_REQUEST:
    return the_request(aTHX);
  case MEHARI_REC_HANDLER:
    return newSVpv(handler_name(), 0);
  default:
    return NULL;
  }
}

SV *mehari_rec_text(pTHX_ mehari_rec *rec, int which)
{
  if (!rec->texts[which] && !(rec->changed & (1u << which))) {
    mehari_rec *from = rec;
    while (from->main)
      from = from->main;
    rec->texts[which] = rec->main ? (from->texts[which] ? newSVsv(from->texts[which]) : NULL) : as_sent(aTHX_ which);
  }
  return rec->texts[which];
}

void mehari_rec_set_text(pTHX_ mehari_rec *rec, int which, SV *value)
{
  rec->changed |= 1u << which;
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
  int count = which == MEHARI_TABLE_HEADERS_IN ? mehari_now.frame->field_count : which == MEHARI_TABLE_SUBPROCESS_ENV ? mehari_now.frame->variable_count : 0;
  const mehari_pair *pairs = which == MEHARI_TABLE_HEADERS_IN ? mehari_now.fields : mehari_now.variables;
  for (int i = 0; i < count; i++)
    mehari_table_add(held->table, mehari_span_text(pairs[i].name), mehari_span_text(pairs[i].value));
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
  for (int i = 0; i < MEHARI_REC_TEXT_COUNT; i++)
    if (rec->texts[i])
      forget(aTHX_ &rec->texts[i]);
  for (int i = 0; i < MEHARI_TABLE_COUNT; i++)
    if (rec->tables[i].table)
      forget_table(aTHX_ &rec->tables[i]);
  for (int i = 0; i < MEHARI_PHASE_COUNT; i++)
    if (rec->handlers[i])
      forget(aTHX_ (SV **)&rec->handlers[i]);
  forget(aTHX_ (SV **)&rec->cleanups);
  forget(aTHX_ (SV **)&rec->pnotes);
  forget(aTHX_ (SV **)&rec->slots);
  Zero(rec->numbers, MEHARI_NUMBER_COUNT, IV);
  forget(aTHX_ (SV **)&rec->documents);
  forget(aTHX_ &rec->redirect);
  rec->changed = 0;
  rec->status = 0;
}

void mehari_request_drop(pTHX)
{
  while (newest && newest != &served) {
    mehari_rec *gone = newest;
    newest = gone->older;
    clear(aTHX_ gone);
    forget(aTHX_ &gone->object);
    Safefree(gone);
  }
  newest = mehari_rec_now = NULL;
  mehari_form_forget(aTHX);
  SV *object = served.object;
  /* One nobody kept serves again: its number is the only thing in it. */
  if (object && (SvREFCNT(object) > 1 || SvREFCNT(SvRV(object)) > 1))
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

static void add_content_type(pTHX_ mehari_rec *rec)
{
  STRLEN length;
  const char *type = rec->texts[MEHARI_REC_CONTENT_TYPE] ? SvPV(rec->texts[MEHARI_REC_CONTENT_TYPE], length) : NULL;
  if (type)
    mehari_head_add(&mehari_response, "Content-Type", 12, type, length);
}

static void add_tables(mehari_rec *rec)
{
  add_pairs(rec->tables[MEHARI_TABLE_HEADERS_OUT].table, NULL);
  add_pairs(rec->tables[MEHARI_TABLE_ERR_HEADERS_OUT].table, NULL);
}

void mehari_request_fill_head(pTHX)
{
  mehari_response.status = served.status;
  add_content_type(aTHX_ &served);
  add_tables(&served);
}

void mehari_request_complete_head(pTHX)
{
  if (!mehari_response.status)
    mehari_response.status = served.status;
  add_tables(&served);
}

/* A page of the front's has its own type and length: of what the handlers set, what is meant for errors,
 * and where a redirect goes. */
void mehari_rec_add_error_head(mehari_rec *rec, int status)
{
  if (!status)
    add_pairs(rec->tables[MEHARI_TABLE_HEADERS_OUT].table, NULL);
  else if (status >= 300 && status < 400)
    add_pairs(rec->tables[MEHARI_TABLE_HEADERS_OUT].table, "Location");
  add_pairs(rec->tables[MEHARI_TABLE_ERR_HEADERS_OUT].table, NULL);
}

SV *mehari_rec_document(pTHX_ mehari_rec *rec, int status)
{
  char digits[12];
  int length = snprintf(digits, sizeof digits, "%d", status);
  SV **found = rec->documents ? hv_fetch(rec->documents, digits, length, 0) : NULL;
  return found && SvOK(*found) ? *found : NULL;
}
