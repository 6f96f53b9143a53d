/* The functions on the entries of a table that need no Perl values. */
#include "api/api.h"
#include "request/record.h"

mehari_table *mehari_table_new(void)
{
  mehari_table *table;
  Newxz(table, 1, mehari_table);
  table->holders = 1;
  return table;
}

void mehari_table_release(mehari_table *table)
{
  if (!table || --table->holders)
    return;
  mehari_table_clear(table);
  Safefree(table->entries);
  Safefree(table);
}

static bool is_named(const mehari_entry *entry, mehari_text name)
{
  return entry->name_length == name.length && !strncasecmp(entry->name, name.at, name.length);
}

/* Cuts a text at its first NUL, as in APR, whose tables hold C strings. */
static mehari_text up_to_nul(mehari_text text)
{
  const char *end = memchr(text.at, '\0', text.length);
  return end ? (mehari_text){text.at, end - text.at} : text;
}

static mehari_entry make_entry(mehari_text name, mehari_text value)
{
  name = up_to_nul(name);
  value = up_to_nul(value);
  mehari_entry entry = {safemalloc(name.length + value.length + 2), NULL, name.length, value.length};
  entry.value = entry.name + name.length + 1;
  mehari_bytes(entry.name, name.at, name.length);
  mehari_bytes(entry.value, value.at, value.length);
  entry.name[name.length] = entry.value[value.length] = '\0';
  return entry;
}

void mehari_table_add(mehari_table *table, mehari_text name, mehari_text value)
{
  if (table->count == table->capacity) {
    table->capacity = table->capacity ? table->capacity * 2 : 16;
    Renew(table->entries, table->capacity, mehari_entry);
  }
  table->entries[table->count++] = make_entry(name, value);
}

/* Removes the entries of a name from `first` on. */
static void remove_from(mehari_table *table, int first, mehari_text name)
{
  int kept = first;
  for (int i = first; i < table->count; i++)
    if (is_named(&table->entries[i], name))
      Safefree(table->entries[i].name);
    else
      table->entries[kept++] = table->entries[i];
  table->count = kept;
}

static int position(const mehari_table *table, mehari_text name)
{
  for (int i = 0; i < table->count; i++)
    if (is_named(&table->entries[i], name))
      return i;
  return -1;
}

/* Replaces the value of an entry. The spelling and the place of the first entry stay. */
static void replace(mehari_table *table, int at, mehari_text value)
{
  mehari_entry old = table->entries[at];
  table->entries[at] = make_entry((mehari_text){old.name, old.name_length}, value);
  Safefree(old.name);
}

void mehari_table_set(mehari_table *table, mehari_text name, mehari_text value)
{
  int at = position(table, name);
  if (at < 0) {
    mehari_table_add(table, name, value);
    return;
  }
  remove_from(table, at + 1, name);
  replace(table, at, value);
}

void mehari_table_merge(mehari_table *table, mehari_text name, mehari_text value, const char *separator)
{
  int at = position(table, name);
  if (at < 0) {
    mehari_table_add(table, name, value);
    return;
  }
  const mehari_entry *old = &table->entries[at];
  STRLEN length = old->value_length + 2 + value.length;
  char *joined = safemalloc(length);
  mehari_bytes(joined, old->value, old->value_length);
  mehari_bytes(joined + old->value_length, separator, 2);
  mehari_bytes(joined + old->value_length + 2, value.at, value.length);
  replace(table, at, (mehari_text){joined, length});
  Safefree(joined);
}

void mehari_table_unset(mehari_table *table, mehari_text name) { remove_from(table, 0, name); }

void mehari_table_clear(mehari_table *table)
{
  for (int i = 0; i < table->count; i++)
    Safefree(table->entries[i].name);
  table->count = table->cursor = 0;
}

const mehari_entry *mehari_table_find(const mehari_table *table, mehari_text name)
{
  int at = position(table, name);
  return at < 0 ? NULL : &table->entries[at];
}
