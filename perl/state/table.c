/* Finds, adds and removes the records of a store: hashes by name, entries by key. The functions are
 * called between store_enter and store_leave, and do not open or map files. */
#include "store.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t store_digest(uint64_t seed, store_text text)
{
  uint64_t digest = seed ^ (text.length * 0x9E3779B97F4A7C15u), word;
  for (; text.length >= 8; text.at += 8, text.length -= 8) {
    memcpy(&word, text.at, 8);
    digest = (digest ^ word) * 0xD6E8FEB86659FD93u;
    digest ^= digest >> 32;
  }
  word = 0;
  memcpy(&word, text.at, text.length);
  digest = (digest ^ word) * 0xD6E8FEB86659FD93u;
  digest ^= digest >> 32;
  digest *= 0xD6E8FEB86659FD93u;
  return digest ^ digest >> 29;
}

static uint64_t check_of(const store_record *record)
{
  store_text fields = { (const char *)&record->digest, 24 };
  uint64_t seed = store_digest(record->expires, fields);
  return store_digest(seed, (store_text){ record->bytes, (size_t)record->key_length + record->value_length });
}

static uint64_t digest_of(mehari_store *store, uint64_t hash, store_text key)
{
  return store_digest(store->header->seed ^ hash * 0x9E3779B97F4A7C15u, key);
}

/* Returns the length of the value in a hash's own record: padding, then two aligned words (see
 * newest_of). */
static uint32_t head_length(uint32_t key_length) { return (8 - key_length % 8) % 8 + 16; }

/* Returns the record at an offset in the file, or NULL if no record can be at this offset. */
static store_record *record_at(mehari_store *store, uint64_t place)
{
  uint64_t tail = store->header->tail, first = STORE_HEAD + store->header->buckets * 8;
  if (place < first || place & 7 || tail - first < sizeof(store_record) || place > tail - sizeof(store_record)) {
    store_fail(store, "%s is damaged: a record is said to be at %llu", store->path, (unsigned long long)place);
    return NULL;
  }
  store_record *record = (store_record *)(store->base + place);
  if (store_record_size(record->key_length, record->value_length) > tail - place) {
    store_fail(store, "%s is damaged: the record at %llu is longer than the file", store->path, (unsigned long long)place);
    return NULL;
  }
  if (!record->hash && record->value_length != head_length(record->key_length)) {
    store_fail(store, "%s is damaged: the head at %llu has no place for its list", store->path, (unsigned long long)place);
    return NULL;
  }
  return record;
}

static uint64_t place_of(mehari_store *store, const store_record *record) { return (uint64_t)((const char *)record - store->base); }

static bool is(const store_record *record, uint64_t digest, uint64_t hash, store_text key)
{
  return record->digest == digest && record->hash == hash && record->key_length == key.length && !memcmp(record->bytes, key.at, key.length);
}

static uint64_t *bucket_of(mehari_store *store, uint64_t digest)
{
  return &store_buckets(store)[digest & (store->header->buckets - 1)];
}

/* Returns the word that holds the record's offset. The word is 0 if the key is missing. Returns
 * NULL if the chain of records is damaged. */
static uint64_t *link_of(mehari_store *store, uint64_t hash, store_text key)
{
  uint64_t digest = digest_of(store, hash, key), steps = 0;
  uint64_t *link = bucket_of(store, digest);
  while (*link) {
    store_record *record = record_at(store, *link);
    if (!record)
      return NULL;
    if (is(record, digest, hash, key))
      return link;
    if (steps++ > store->header->records) {
      store_fail(store, "%s is damaged: a chain of records has no end", store->path);
      return NULL;
    }
    link = &record->next;
  }
  return link;
}

store_record *table_find(mehari_store *store, uint64_t hash, store_text key)
{
  store->problem[0] = 0;
  uint64_t *link = link_of(store, hash, key);
  if (!link || !*link)
    return NULL;
  store_record *record = (store_record *)(store->base + *link);
  if (hash && record->check != check_of(record)) {
    store->damaged++;
    store_fail(store, "%s is damaged: the value of \"%.*s\" is not what was written", store->path, (int)(key.length > 80 ? 80 : key.length), key.at);
    return NULL;
  }
  return record;
}

static uint64_t *newest_of(store_record *head)
{
  /* The key of a hash's own record is padded, so this word is aligned. */
  return (uint64_t *)(head->bytes + ((head->key_length + 7u) & ~7u));
}

store_record *table_entry(mehari_store *store, store_text name, store_text key)
{
  store_record *head = table_find(store, 0, name);
  return head ? table_find(store, newest_of(head)[1], key) : NULL;
}

/* Writes a record at the end. The record is not visible yet. The caller has made room for it. */
static store_record *append(mehari_store *store, uint64_t hash, store_text key, uint32_t value_length)
{
  store_header *header = store->header;
  store_record *record = (store_record *)(store->base + header->tail);
  *record = (store_record){ .digest = digest_of(store, hash, key), .hash = hash, .key_length = key.length, .value_length = value_length };
  memcpy(record->bytes, key.at, key.length);
  return record;
}

static void publish(mehari_store *store, store_record *record, uint64_t *link)
{
  store_header *header = store->header;
  uint64_t size = store_record_size(record->key_length, record->value_length), place = place_of(store, record);
  store_record *replaced = *link ? (store_record *)(store->base + *link) : NULL;
  /* In this order, a process that is killed leaves sums that are too high, and never too low. */
  header->live += size;
  if (replaced)
    record->next = replaced->next;
  else
    header->records++;
  __atomic_store_n(link, place, __ATOMIC_RELEASE);
  if (replaced)
    header->live -= store_record_size(replaced->key_length, replaced->value_length);
}

static store_record *make_head(mehari_store *store, store_text name)
{
  store_record *head = append(store, 0, name, head_length(name.length));
  newest_of(head)[0] = 0;
  newest_of(head)[1] = store->header->next_hash++;
  store->header->tail += store_record_size(head->key_length, head->value_length);
  uint64_t *link = link_of(store, 0, name);
  if (!link)
    return NULL;
  publish(store, head, link);
  return head;
}

static bool is_gone(const store_record *record, uint32_t now) { return record->expires && record->expires <= now; }

bool table_put(mehari_store *store, store_text name, store_text key, store_text value, uint32_t expires)
{
  if (name.length > STORE_NAME_LIMIT || key.length > STORE_NAME_LIMIT)
    return store_fail(store, "a key of %zu bytes: at most %d", key.length > name.length ? key.length : name.length, STORE_NAME_LIMIT);
  if (value.length > STORE_VALUE_LIMIT)
    return store_fail(store, "a value of %zu bytes: at most %u", value.length, STORE_VALUE_LIMIT);
  uint64_t size = store_record_size(key.length, value.length);
  if (!store_make_room(store, size + store_record_size(name.length + 8, 16)))
    return false;
  store->problem[0] = 0;
  store_record *head = table_find(store, 0, name);
  if (!head && (store->problem[0] || !(head = make_head(store, name))))
    return false;
  uint64_t hash = newest_of(head)[1];
  uint64_t *link = link_of(store, hash, key);
  if (!link)
    return false;
  store_record *record = append(store, hash, key, value.length);
  memcpy(record->bytes + key.length, value.at, value.length);
  record->expires = expires;
  record->touched = expires ? (uint32_t)time(NULL) : 0;
  record->check = check_of(record);
  record->previous = newest_of(head)[0];
  store->header->tail += size;
  /* The list of the hash comes first, then the bucket. If the process is killed in between, the
   * entry is only in the list and counts as missing. */
  __atomic_store_n(newest_of(head), place_of(store, record), __ATOMIC_RELEASE);
  publish(store, record, link);
  return true;
}

static void unlink_record(mehari_store *store, uint64_t *link)
{
  store_record *record = (store_record *)(store->base + *link);
  __atomic_store_n(link, record->next, __ATOMIC_RELEASE);
  store->header->live -= store_record_size(record->key_length, record->value_length);
  store->header->records--;
}

bool table_remove(mehari_store *store, store_text name, store_text key)
{
  store->problem[0] = 0;
  store_record *head = table_find(store, 0, name);
  if (!head)
    return !store->problem[0];
  uint64_t *link = link_of(store, newest_of(head)[1], key);
  if (link && *link)
    unlink_record(store, link);
  return link != NULL;
}

bool table_walk(mehari_store *store, store_text name, bool (*each)(void *, store_record *), void *with)
{
  store->problem[0] = 0;
  store_record *head = table_find(store, 0, name);
  if (!head)
    return !store->problem[0];
  uint64_t hash = newest_of(head)[1], place = newest_of(head)[0], before = UINT64_MAX;
  uint32_t now = (uint32_t)time(NULL);
  while (place) {
    /* Each offset must be lower than the offset before, so the loop ends. */
    store_record *record = place < before ? record_at(store, place) : NULL;
    if (!record)
      return store_fail(store, "%s is damaged: the list of \"%.*s\" leads astray", store->path, (int)(name.length > 80 ? 80 : name.length), name.at);
    before = place;
    uint64_t *link = link_of(store, hash, store_key_of(record));
    if (!link)
      return false;
    if (*link == place && !is_gone(record, now) && !each(with, record))
      return true;
    place = record->previous;
  }
  return true;
}

static bool forget(void *with, store_record *record)
{
  mehari_store *store = with;
  uint64_t *link = link_of(store, record->hash, store_key_of(record));
  if (link && *link)
    unlink_record(store, link);
  return true;
}

/* Removes a hash with all its entries. The hash's own record is removed first. From then on no
 * entry is visible, even if this process is killed. */
bool table_clear(mehari_store *store, store_text name)
{
  uint64_t *link = link_of(store, 0, name);
  if (!link)
    return false;
  if (!*link)
    return true;
  store_record *head = (store_record *)(store->base + *link);
  uint64_t place = newest_of(head)[0], hash = newest_of(head)[1], before = UINT64_MAX;
  unlink_record(store, link);
  while (place && place < before) {
    store_record *record = record_at(store, place);
    if (!record)
      return false;
    before = place;
    link = link_of(store, hash, store_key_of(record));
    if (link && *link == place)
      forget(store, record);
    place = record->previous;
  }
  return true;
}

static int newest_first(const void *a, const void *b)
{
  uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
  return one < other ? 1 : one > other ? -1 : 0;
}

/* Returns the offsets of all current records, the newest first. The caller frees the array. */
static uint64_t *current_places(mehari_store *store, uint64_t *count)
{
  uint64_t room = 1024, *places = malloc(room * sizeof *places);
  *count = 0;
  for (uint64_t i = 0; places && i < store->header->buckets; i++) {
    uint64_t steps = 0;
    for (uint64_t place = store_buckets(store)[i]; place && steps++ <= store->header->records;) {
      store_record *record = record_at(store, place);
      if (!record)
        break;
      if (*count == room) {
        uint64_t *more = realloc(places, 2 * room * sizeof *places);
        if (!more) {
          free(places);
          return NULL;
        }
        places = more;
        room *= 2;
      }
      places[(*count)++] = place;
      place = record->next;
    }
  }
  if (places)
    qsort(places, *count, sizeof *places, newest_first);
  return places;
}

typedef struct { uint64_t hash; store_text name; } head_name;

static int by_hash(const void *a, const void *b)
{
  uint64_t one = ((const head_name *)a)->hash, other = ((const head_name *)b)->hash;
  return one < other ? -1 : one > other;
}

/* Copies the current entries to another store, except expired and damaged entries. If `room` is not
 * 0, only the newest entries are copied, up to this number of bytes. */
bool table_copy(mehari_store *from, mehari_store *to, uint64_t room)
{
  uint64_t count, heads = 0, used = 0;
  uint64_t *places = current_places(from, &count);
  head_name *names = places ? malloc((count + 1) * sizeof *names) : NULL;
  if (!names) {
    free(places);
    return store_fail(from, "no memory to write %s anew", from->path);
  }
  for (uint64_t i = 0; i < count; i++) {
    store_record *record = record_at(from, places[i]);
    if (record->hash == 0)
      names[heads++] = (head_name){ newest_of(record)[1], store_key_of(record) };
  }
  qsort(names, heads, sizeof *names, by_hash);
  uint32_t now = (uint32_t)time(NULL);
  uint64_t kept = 0;
  for (; kept < count; kept++) { /* counts the newest entries that fit */
    store_record *record = record_at(from, places[kept]);
    used += store_record_size(record->key_length, record->value_length);
    if (room && used > room)
      break;
  }
  bool done = true;
  while (done && kept--) { /* writes the oldest first, so that the order stays the same */
    store_record *record = record_at(from, places[kept]);
    head_name wanted = { record->hash, { 0 } };
    head_name *name = record->hash ? bsearch(&wanted, names, heads, sizeof *names, by_hash) : NULL;
    if (!name || is_gone(record, now))
      continue;
    if (record->check != check_of(record)) {
      from->damaged++;
      continue;
    }
    store_text value = { record->bytes + record->key_length, record->value_length };
    if (!(done = table_put(to, name->name, store_key_of(record), value, record->expires)))
      store_fail(from, "%s", to->problem);
  }
  free(names);
  free(places);
  return done;
}

uint64_t table_audit(mehari_store *store)
{
  uint64_t damaged = 0;
  for (uint64_t i = 0; i < store->header->buckets; i++) {
    uint64_t *link = &store_buckets(store)[i], steps = 0;
    while (*link) {
      store_record *record = record_at(store, *link);
      if (!record || steps++ > store->header->records) {
        *link = 0; /* the records after this one in the chain are lost */
        damaged++;
        break;
      }
      if (record->hash && record->check != check_of(record)) {
        damaged++;
        unlink_record(store, link);
      } else
        link = &record->next;
    }
  }
  return damaged;
}
