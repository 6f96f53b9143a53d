/* Shared by the files of the mod_perl API: tables, and the registration of subs. */
#ifndef MEHARI_API_H
#define MEHARI_API_H

#include "interpreter/interpreter.h"
#include "response/response.h"
#include "request/record.h"

/* A sub that is written by hand. `index` distinguishes subs with a common body (dXSI32). */
typedef struct mehari_sub {
  const char *name;
  XSUBADDR_t body;
  I32 index;
} mehari_sub;
void mehari_define(pTHX_ const mehari_sub *subs, size_t count);
/* Defines the subs of a static array. The subs belong to requests, so threads must not call
 * them. */
#define MEHARI_DEFINE(subs) (mehari_define(aTHX_ subs, C_ARRAY_LENGTH(subs)), mehari_forbid_in_threads(subs, C_ARRAY_LENGTH(subs)))

/* io.c: dies with an APR::Error for the system's error number. */
void mehari_throw(pTHX_ int error, const char *function);
/* io.c: sends printed output, or dies for `function` if the client has left. */
void mehari_flush_or_die(pTHX_ const char *function);

/* table.c: APR::Table. The case of a name does not matter. A name may have several values. The
 * order of the entries is kept. */
typedef struct {
  char *name; /* the value is NUL-terminated too, and both share one allocation */
  char *value;
  U32 name_length, value_length;
} mehari_entry;
struct mehari_table {
  mehari_entry *entries;
  int count, capacity;
  /* For `each`: the entries that were already returned; 0 when no iteration is under way. */
  int cursor;
  int holders;
};
mehari_table *mehari_table_new(void);
void mehari_table_release(mehari_table *table);
void mehari_table_add(mehari_table *table, mehari_text name, mehari_text value);
void mehari_table_set(mehari_table *table, mehari_text name, mehari_text value);
/* `separator` has two characters. */
void mehari_table_merge(mehari_table *table, mehari_text name, mehari_text value, const char *separator);
void mehari_table_unset(mehari_table *table, mehari_text name);
void mehari_table_clear(mehari_table *table);
const mehari_entry *mehari_table_find(const mehari_table *table, mehari_text name);
SV *mehari_table_object(pTHX_ mehari_table *table); /* a new reference to a hash that is tied to the table and holds it */
/* Whether the object is unchanged since it was made, and no other reference to the object
 * exists. */
bool mehari_table_is_unshared(pTHX_ SV *object);
mehari_table *mehari_table_of(pTHX_ SV *object); /* croaks if the object is not a table */
void mehari_table_boot(pTHX);
void mehari_subrequest_boot(pTHX); /* subrequest.c */
void mehari_layers_boot(pTHX);     /* layers.c */

/* filter.c: Perl's filters of a request. */
/* Filters the request's body; called before the response. */
void mehari_filters_begin(pTHX_ mehari_rec *rec);
/* Returns the filters' output for a part of the body; NULL: a filter died. */
SV *mehari_filter_output(pTHX_ mehari_text body, const mehari_pieces *pieces, mehari_part_of_body part);
/* Filters the whole body of a sub-request; false: a filter died. */
bool mehari_filter_subrequest(pTHX_ mehari_rec *sub, SV *body);
/* Whether an output filter runs now. `insert` adds a body behind what this filter has printed. */
bool mehari_output_filter_runs(void);
void mehari_filter_insert(pTHX_ mehari_text body);
void mehari_filters_forget(void); /* before a request */
extern bool mehari_input_refused; /* whether an input filter died; the body then cannot be read */
void mehari_filter_boot(pTHX);

/* Dies if `self` is not the `$r` of the current request. */
#define MEHARI_CHECK(self) ((void)mehari_rec_of(aTHX_ self))

/* request.c, server.c, io.c */
void mehari_api_request_boot(pTHX);
void mehari_server_boot(pTHX);
void mehari_io_boot(pTHX);

/* A string argument. The bytes live as long as the argument. */
static inline mehari_text mehari_sv_text(pTHX_ SV *sv)
{
  mehari_text text;
  text.at = SvPV(sv, text.length);
  return text;
}

#endif
