/* Times the statements of a traced request: DBI's methods that ask the database.
 *
 * All methods of DBI are one C function, with different data. During a traced request the methods
 * point to `timed`, which calls that function. A caller sees no difference: no frame of Perl is
 * added, and arguments, context, results and errors are DBI's own. A method that DBI calls within
 * another method belongs to the outer one. Values are never read, only the statement's text. */
#include "trace/trace.h"
#include <unistd.h>

#define LONGEST_TEXT 3000u
#define LONGEST_DRIVER 31u

typedef enum { ROWS_UNKNOWN, ROWS_RETURNED, ROWS_FETCHED, ROWS_IN_RESULT } how_to_count;

static const struct { const char *name; how_to_count count; } methods[] = {
  {"DBI::dr::connect", ROWS_UNKNOWN},
  {"DBI::db::prepare", ROWS_UNKNOWN}, {"DBI::db::prepare_cached", ROWS_UNKNOWN},
  {"DBI::db::do", ROWS_RETURNED},
  {"DBI::db::selectrow_array", ROWS_IN_RESULT}, {"DBI::db::selectrow_arrayref", ROWS_FETCHED}, {"DBI::db::selectrow_hashref", ROWS_FETCHED},
  {"DBI::db::selectall_arrayref", ROWS_IN_RESULT}, {"DBI::db::selectall_hashref", ROWS_IN_RESULT}, {"DBI::db::selectcol_arrayref", ROWS_IN_RESULT},
  {"DBI::db::selectall_array", ROWS_IN_RESULT},
  {"DBI::db::begin_work", ROWS_UNKNOWN}, {"DBI::db::commit", ROWS_UNKNOWN}, {"DBI::db::rollback", ROWS_UNKNOWN}, {"DBI::db::ping", ROWS_UNKNOWN},
  {"DBI::st::execute", ROWS_RETURNED}, {"DBI::st::execute_array", ROWS_RETURNED},
  {"DBI::st::fetch", ROWS_FETCHED}, {"DBI::st::fetchrow_arrayref", ROWS_FETCHED}, {"DBI::st::fetchrow_hashref", ROWS_FETCHED},
  {"DBI::st::fetchrow_array", ROWS_IN_RESULT}, {"DBI::st::fetchall_arrayref", ROWS_IN_RESULT}, {"DBI::st::fetchall_hashref", ROWS_IN_RESULT},
};
#define METHODS C_ARRAY_LENGTH(methods)

static XSUBADDR_t dispatch; /* DBI's function */
static CV *replaced[METHODS];

/* The call that is running. */
static struct {
  bool is_running;
  uint64_t start;
  size_t method;
  const HV *handle;
  char text[LONGEST_TEXT];
  size_t length;
  char driver[LONGEST_DRIVER + 1];
} call;

/* Calls of fetch methods on one handle in a row. They are one part, because a part for each row
 * would cost more than the row. */
static struct {
  const HV *handle;
  mehari_part part;
  size_t method;
  char text[LONGEST_TEXT];
  size_t length;
  char driver[LONGEST_DRIVER + 1];
} fetches;

static const char *method_name(size_t method) { return strrchr(methods[method].name, ':') + 1; }

static void send_part(size_t method, mehari_part part, const char *driver, mehari_text text)
{
  const char *word = method_name(method);
  mehari_text name[] = {{driver, strlen(driver)}, {"", *driver ? 1 : 0}, {word, strlen(word)}, {": ", text.length ? 2 : 0}, text};
  mehari_trace_send(MEHARI_PART_STATEMENT, part, name, C_ARRAY_LENGTH(name));
}

void mehari_trace_send_fetches(void)
{
  if (!fetches.handle)
    return;
  fetches.handle = NULL;
  send_part(fetches.method, fetches.part, fetches.driver, (mehari_text){fetches.text, fetches.length});
}

/* Returns the hash behind a handle, in which DBI keeps the handle's attributes. */
static HV *attributes_of(pTHX_ SV *handle)
{
  if (!SvROK(handle) || SvTYPE(SvRV(handle)) != SVt_PVHV)
    return NULL;
  MAGIC *tie = SvRMAGICAL(SvRV(handle)) ? mg_find(SvRV(handle), PERL_MAGIC_tied) : NULL;
  SV *inner = tie ? tie->mg_obj : handle;
  return inner && SvROK(inner) && SvTYPE(SvRV(inner)) == SVt_PVHV ? (HV *)SvRV(inner) : NULL;
}

/* Copies the name of the driver: X of the class DBD::X::st that implements the handle. */
static void read_driver(pTHX_ const HV *attributes)
{
  call.driver[0] = '\0';
  SV **class = attributes ? hv_fetchs((HV *)attributes, "ImplementorClass", 0) : NULL;
  if (!class || !SvPOK(*class) || SvCUR(*class) < 5 || memNE(SvPVX(*class), "DBD::", 5))
    return;
  const char *name = SvPVX(*class) + 5;
  size_t length = strcspn(name, ":");
  if (length > LONGEST_DRIVER)
    return;
  memcpy(call.driver, name, length);
  call.driver[length] = '\0';
}

/* Copies the text of the statement: an argument, or what DBI has kept of the handle. */
static void read_text(pTHX_ SV **arguments, SSize_t count)
{
  bool is_of_database = memEQ(methods[call.method].name, "DBI::db::", 9);
  bool has_text = is_of_database && count > 1;
  SV *text = has_text ? arguments[1] : NULL;
  HV *attributes = NULL;
  call.length = 0;
  if (text && SvROK(text))
    attributes = attributes_of(aTHX_ text);
  else if (!is_of_database && count)
    attributes = attributes_of(aTHX_ arguments[0]);
  if (attributes && !mg_find((SV *)attributes, PERL_MAGIC_tied)) {
    SV **kept = hv_fetchs(attributes, "Statement", 0);
    text = kept ? *kept : NULL;
  }
  if (!text || !SvPOK(text))
    return;
  call.length = SvCUR(text) < LONGEST_TEXT ? SvCUR(text) : LONGEST_TEXT;
  memcpy(call.text, SvPVX(text), call.length);
}

static uint64_t rows_of(pTHX_ SV **results, SSize_t count)
{
  SV *first = count > 0 ? results[0] : NULL, *within = first && SvROK(first) ? SvRV(first) : NULL;
  switch (methods[call.method].count) {
  case ROWS_RETURNED: {
    IV rows = !first ? -1 : SvIOK(first) ? SvIVX(first) : SvPOK(first) ? atol(SvPVX(first)) : -1;
    return rows >= 0 ? (uint64_t)rows : MEHARI_PART_NO_ROWS;
  }
  case ROWS_FETCHED:
    return within != NULL;
  case ROWS_IN_RESULT:
    if (within && SvTYPE(within) == SVt_PVAV)
      return (uint64_t)(AvFILLp((AV *)within) + 1);
    if (within && SvTYPE(within) == SVt_PVHV)
      return (uint64_t)HvUSEDKEYS((HV *)within);
    return strEQ(method_name(call.method), "selectall_array") ? (uint64_t)count : count > 0;
  default:
    return MEHARI_PART_NO_ROWS;
  }
}

static bool is_fetch_of_row(size_t method)
{
  const char *name = method_name(method);
  return strEQ(name, "fetch") || (strnEQ(name, "fetchrow_", 9));
}

/* Reports the call that has ended, or counts a fetch with the fetches before it. */
static void end_call(uint64_t rows)
{
  uint64_t now = mehari_trace_time();
  mehari_part part = {call.start, now, now - call.start, rows, 1, (uint32_t)getpid()};
  call.is_running = false;
  if (!is_fetch_of_row(call.method)) {
    mehari_trace_send_fetches();
    send_part(call.method, part, call.driver, (mehari_text){call.text, call.length});
    return;
  }
  if (fetches.handle == call.handle && fetches.method == call.method) {
    fetches.part.until = now;
    fetches.part.busy += part.busy;
    fetches.part.count++;
    if (rows != MEHARI_PART_NO_ROWS)
      fetches.part.rows += rows;
    return;
  }
  mehari_trace_send_fetches();
  fetches.handle = call.handle;
  fetches.part = part;
  fetches.part.rows = rows == MEHARI_PART_NO_ROWS ? 0 : rows;
  fetches.method = call.method;
  fetches.length = call.length;
  memcpy(fetches.text, call.text, call.length);
  memcpy(fetches.driver, call.driver, sizeof fetches.driver);
}

/* Runs when perl leaves the scope of a call. A call that is still running has died. */
static void leave_call(pTHX_ void *unused)
{
  PERL_UNUSED_ARG(unused);
  if (call.is_running)
    end_call(MEHARI_PART_NO_ROWS);
}

static size_t method_of(const CV *cv)
{
  size_t method = 0;
  while (method < METHODS && replaced[method] != cv)
    method++;
  return method;
}

static void timed(pTHX_ CV *cv)
{
  size_t method = call.is_running || !mehari_traced ? METHODS : method_of(cv);
  if (method == METHODS) {
    dispatch(aTHX_ cv);
    return;
  }
  SSize_t first = *PL_markstack_ptr + 1;
  SSize_t count = PL_stack_sp - (PL_stack_base + first) + 1;
  call.method = method;
  call.handle = count ? attributes_of(aTHX_ PL_stack_base[first]) : NULL;
  read_driver(aTHX_ call.handle);
  read_text(aTHX_ PL_stack_base + first, count);
  call.is_running = true;
  call.start = mehari_trace_time();
  ENTER;
  SAVEDESTRUCTOR_X(leave_call, NULL);
  dispatch(aTHX_ cv);
  if (call.is_running)
    end_call(rows_of(aTHX_ PL_stack_base + first, PL_stack_sp - (PL_stack_base + first) + 1));
  LEAVE;
}

void mehari_trace_statements(pTHX)
{
  if (dispatch || !get_cvs("DBI::st::fetchall_hashref", 0))
    return;
  CV *execute = get_cvs("DBI::st::execute", 0);
  if (!execute || !CvISXSUB(execute))
    return;
  dispatch = CvXSUB(execute);
  for (size_t i = 0; i < METHODS; i++) {
    CV *method = get_cv(methods[i].name, 0);
    if (!method || !CvISXSUB(method) || CvXSUB(method) != dispatch)
      continue;
    replaced[i] = (CV *)SvREFCNT_inc_NN((SV *)method);
    CvXSUB(method) = timed;
  }
}

void mehari_trace_statements_end(void)
{
  dTHX;
  if (!dispatch)
    return;
  for (size_t i = 0; i < METHODS; i++) {
    if (!replaced[i])
      continue;
    CvXSUB(replaced[i]) = dispatch;
    SvREFCNT_dec((SV *)replaced[i]);
    replaced[i] = NULL;
  }
  dispatch = NULL;
  call.is_running = false;
  fetches.handle = NULL;
}
