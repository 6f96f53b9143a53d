/* Decides whether a program left an object whose destructor may have an effect. Only in this case
 * must perl destroy the objects at the end. To destroy them, perl searches all values. This search
 * unshares their memory and takes milliseconds in a large interpreter. A handler or an application
 * goes on after the request, so only the objects of its request are destroyed.
 *
 * An object holds a reference to its class's stash. If no class is new, and no reference count of a
 * class has grown since the template looked, the program left no object. Otherwise this file
 * searches all values, but only reads. */
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"
#include "mailbox/mailbox.h"

typedef struct {
  HV *stash;
  U32 references;
  STRLEN names;
} class;

typedef struct {
  SV *object;
  HV *stash;
} instance;

/* The classes and instances before the program ran. Only instances with a destructor are noted,
 * sorted by address. */
static class *classes;
static instance *instances;
static size_t class_count, instance_count;
static bool are_sorted; /* whether the classes are complete, and sorted by address */

/* Whether a destructor returns at once. perl itself does not call such a destructor. */
static bool returns_at_once(CV *code)
{
  OP *op = CvISXSUB(code) ? NULL : CvSTART(code);
  while (op && (op->op_type == OP_NEXTSTATE || op->op_type == OP_DBSTATE || op->op_type == OP_STUB || op->op_type == OP_NULL))
    op = op->op_next;
  return op && op->op_type == OP_LEAVESUB;
}

static CV *find_method(pTHX_ HV *stash, const char *name)
{
  /* The level -1 means that the search stores nothing in the stash. */
  GV *found = gv_fetchmeth_pvn(stash, name, strlen(name), -1, 0);
  CV *code = found && isGV_with_GP(found) ? GvCV(found) : NULL;
  return code && (CvISXSUB(code) || CvROOT(code)) ? code : NULL;
}

static bool has_destructor(pTHX_ HV *stash)
{
  CV *code = find_method(aTHX_ stash, "DESTROY");
  if (!code)
    code = find_method(aTHX_ stash, "AUTOLOAD");
  return code && !returns_at_once(code);
}

/* ---- values ---- */

/* Passes each instance to `see` until it returns true. perl's newest values come first. */
static void each_instance(pTHX_ bool (*see)(pTHX_ SV *object, void *argument), void *argument)
{
  HV *last = NULL;
  bool wanted = false;
  MEHARI_EACH_VALUE(each) {
    if (SvTYPE(each) < SVt_PVMG || !SvOBJECT(each) || SvTYPE(each) == SVt_PVIO || !SvSTASH(each))
      continue;
    if (SvSTASH(each) != last) {
      last = SvSTASH(each);
      wanted = has_destructor(aTHX_ last);
    }
    if (wanted && see(aTHX_ each, argument))
      return;
  }
}

static int by_address(const void *a, const void *b)
{
  const SV *left = ((const instance *)a)->object, *right = ((const instance *)b)->object;
  return left < right ? -1 : left > right;
}

static bool note_instance(pTHX_ SV *object, void *argument)
{
  PERL_UNUSED_CONTEXT;
  PERL_UNUSED_ARG(argument);
  Renew(instances, instance_count + 1, instance);
  instances[instance_count++] = (instance){object, SvSTASH(object)};
  return false;
}

static bool is_new(SV *object)
{
  instance wanted = {object, NULL};
  return !instance_count || !bsearch(&wanted, instances, instance_count, sizeof *instances, by_address);
}

static bool look_for_new(pTHX_ SV *object, void *found)
{
  PERL_UNUSED_CONTEXT;
  return *(bool *)found = is_new(object);
}

/* ---- classes ---- */

static int by_stash(const void *a, const void *b)
{
  const HV *left = ((const class *)a)->stash, *right = ((const class *)b)->stash;
  return left < right ? -1 : left > right;
}

static bool is_noted(HV *stash)
{
  class wanted = {stash, 0, 0};
  if (are_sorted)
    return bsearch(&wanted, classes, class_count, sizeof *classes, by_stash) != NULL;
  for (size_t i = 0; i < class_count; i++)
    if (classes[i].stash == stash)
      return true;
  return false;
}

/* Returns the first stash within `stash` that is not noted. The search does not use perl's hash
 * iterator, which would write to a page and so unshare it. */
static HV *unnoted_within(HV *stash)
{
  if (!HvARRAY(stash))
    return NULL;
  for (STRLEN i = 0; i <= HvMAX(stash); i++)
    for (HE *entry = HvARRAY(stash)[i]; entry; entry = HeNEXT(entry)) {
      I32 length = HeKLEN(entry);
      SV *glob = HeVAL(entry);
      if (length < 2 || !memEQ(HeKEY(entry) + length - 2, "::", 2) || !isGV_with_GP(glob))
        continue;
      HV *inner = GvHV((GV *)glob);
      if (inner && !is_noted(inner))
        return inner;
    }
  return NULL;
}

static void note_class(pTHX_ HV *stash)
{
  Renew(classes, class_count + 1, class);
  classes[class_count++] = (class){stash, SvREFCNT(stash), HvTOTALKEYS(stash)};
  HV *inner;
  while ((inner = unnoted_within(stash)))
    note_class(aTHX_ inner);
}

void mehari_destructors_note(pTHX)
{
  are_sorted = false;
  note_class(aTHX_ PL_defstash);
  qsort(classes, class_count, sizeof *classes, by_stash);
  are_sorted = true;
  each_instance(aTHX_ note_instance, NULL);
  if (instance_count)
    qsort(instances, instance_count, sizeof *instances, by_address);
}

void mehari_destructors_note_names(pTHX)
{
  for (size_t i = 0; i < class_count; i++)
    if (SvTYPE(classes[i].stash) == SVt_PVHV && !has_destructor(aTHX_ classes[i].stash) && !unnoted_within(classes[i].stash))
      classes[i].names = HvTOTALKEYS(classes[i].stash);
}

static bool may_have_instances(pTHX_ const class *this)
{
  if (SvTYPE(this->stash) != SVt_PVHV)
    return true;
  bool renamed = HvTOTALKEYS(this->stash) != this->names;
  if (!renamed && SvREFCNT(this->stash) <= this->references)
    return false;
  return has_destructor(aTHX_ this->stash) || (renamed && unnoted_within(this->stash));
}

bool mehari_destructors_due(pTHX)
{
  bool look = false, due = false;
  for (size_t i = 0; i < class_count && !look; i++)
    look = may_have_instances(aTHX_ &classes[i]);
  /* A new object may lie in the place of a freed one. */
  for (size_t i = 0; i < instance_count && !look; i++)
    look = !SvOBJECT(instances[i].object) || SvSTASH(instances[i].object) != instances[i].stash;
  if (look)
    each_instance(aTHX_ look_for_new, &due);
  return due;
}

/* ---- the objects of a request ---- */

typedef struct {
  SV **objects;
  size_t count;
} gathering;

/* Holds a reference, so that no other destructor frees the object. */
static bool gather(pTHX_ SV *object, void *into)
{
  PERL_UNUSED_CONTEXT;
  gathering *this = into;
  if (!is_new(object))
    return false;
  Renew(this->objects, this->count + 1, SV *);
  this->objects[this->count++] = SvREFCNT_inc_NN(object);
  return false;
}

static void call_destructor(pTHX_ void *object)
{
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  mXPUSHs(newRV_inc((SV *)object));
  PUTBACK;
  call_method("DESTROY", G_VOID | G_DISCARD | G_EVAL | G_KEEPERR);
  FREETMPS;
  LEAVE;
}

void mehari_destructors_run(pTHX)
{
  gathering all = {NULL, 0};
  each_instance(aTHX_ gather, &all);
  for (size_t i = 0; i < all.count && !mehari_in_child; i++)
    if (SvOBJECT(all.objects[i]))
      mehari_guard(aTHX_ call_destructor, all.objects[i], NULL);
}
