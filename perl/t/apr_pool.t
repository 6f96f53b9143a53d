# Tests APR::Pool without a server. This file also passes with mod_perl's own module: `perl -MAPR
# t/apr_pool.t`.

use strict;
use warnings;
use Test::More;
use APR::Pool  ();
use APR::Table ();

my @seen;
sub note_it { my ($word) = @_; push @seen, $word; return 1 }

sub seen { my @now = splice @seen; return "@now" }

# Returns the number of a pool's ancestors.
sub generations {
    my ($pool) = @_;
    my $count = 0;
    while (my $parent = $pool->parent_get) {
        $parent != $pool && $parent->is_ancestor($pool) or die 'a parent that is none';
        $pool = $parent;
        $count++;
    }
    return $count;
}

sub family {
    my $parent = APR::Pool->new;
    my $child  = $parent->new;
    $parent->cleanup_register(\&note_it, 'parent');
    $child->cleanup_register(\&note_it, 'child');
    return ($parent, $child);
}

{
    my ($parent, $child) = family();
    is(generations($parent), 1, 'the parent of a new pool is the global pool');
    is(generations($child),  2, 'a child pool has two ancestors');
}
is(seen(), 'child parent', 'both pools end with their scope, the child first');
{
    my ($parent, $child) = family();
    $parent->destroy;
    is(seen(), 'child parent', 'the end of a parent ends its children');
    $child->destroy;
    is(seen(), '', 'a pool ends once');
    ok(!eval { $child->parent_get; 1 }, 'a pool that has ended cannot be used');
    like($@, qr/invalid pool object/, 'the message says that the pool is invalid');
    is(generations($child->new), 1, 'a pool made from an ended pool has only the global parent');
}
{
    my ($parent, $child) = family();
    $child->destroy;
    $parent->destroy;
    is(seen(), 'child parent', 'a child that is destroyed first is not ended again');
}
{
    my ($parent, $child) = family();
    my $above = $parent->parent_get;
    my $again = $child->parent_get;
    ok($again->is_ancestor($child), 'another object of the same pool');
    $parent->destroy;
    $above->destroy;
    $again->destroy;
    is(seen(), 'child parent', 'the global pool cannot be destroyed');
}
{
    my ($parent, $child) = family();
    $parent->clear;
    is(seen(), 'child parent', 'clear ends children and calls cleanups');
    ok(!eval { $child->parent_get; 1 }, 'the child has ended');
    $parent->cleanup_register(\&note_it, 'again');
    $parent->destroy;
    is(seen(), 'again', 'the pool can be used again');
}
{
    my $copy;
    {
        my $pool = APR::Pool->new;
        $pool->cleanup_register(\&note_it, 'late');
        $copy = $pool;
    }
    is(seen(), '', 'a pool lives as long as a reference to it');
    undef $copy;
    is(seen(), 'late', 'a pool ends with the last reference');
}
is(generations(APR::Pool->new->new), 2, 'a parent without a variable lives as long as its child');
{
    my $pool = APR::Pool->new;
    $pool->cleanup_register('note_it', 'by name');
    $pool->cleanup_register(sub { &note_it }, 'anonymous');
    undef $pool;
    is(seen(), 'anonymous by name', 'the last registered is called first');
}
{
    my $pool = APR::Pool->new;
    $pool->cleanup_register('No::such_sub', 1);
    $pool->cleanup_register(sub { die "1\n" });
    $pool->cleanup_register(sub { die "2\n" });
    my @warnings;
    local $SIG{__WARN__} = sub { push @warnings, @_ };
    local $@ = 'kept';
    undef $pool;
    is(shift @warnings, "APR::Pool: cleanup died: 2\n", 'a cleanup that dies causes a warning');
    is(shift @warnings, "APR::Pool: cleanup died: 1\n", 'the other cleanups run');
    like(shift @warnings, qr/Undefined subroutine/, 'a missing sub causes a warning');
    is($@, 'kept', '$@ is not changed');
}
{
    my $table;
    { my $pool = APR::Pool->new; $pool->cleanup_register(sub { }); $table = APR::Table::make($pool, 2) }
    $table->set(one => 1);
    is($table->get('one'), 1, 'a table outlives the object of its pool');
}
done_testing;
