# Tests APR::Table. This file also passes with mod_perl's own module: `perl -MAPR t/apr_table.t`.

use strict;
use warnings;
use Test::More;
use APR::Pool ();
use APR::Table ();
use APR::Const -compile => qw(:table);

my $pool = APR::Pool->new;

sub table {
    my $table = APR::Table::make($pool, 4);
    while (my ($name, $value) = splice @_, 0, 2) { $table->add($name, $value) }
    return $table;
}

sub pairs_of {
    my @pairs;
    $_[0]->do(sub { push @pairs, "$_[0]=$_[1]"; 1 });
    return "@pairs";
}

my $table = table(Foo => 1, bar => 2, foo => 3);
is(ref $table, 'APR::Table', 'an object');
is(scalar $table->get('FOO'), 1, 'get returns the first value in scalar context');
is_deeply([$table->get('foo')], [1, 3], 'get returns all values in list context');
is_deeply([$table->get('none')], [], 'get returns no value for a missing name');
is(scalar $table->get('none'), undef, 'undef in scalar context');
is($table->{BAR}, 2, 'a tied hash');
ok(exists $table->{Bar} && !exists $table->{Baz}, 'exists');

$table->set(FOO => 4);
is(pairs_of($table), 'Foo=4 bar=2', 'set keeps the first place and spelling, and removes the others');
$table->{new} = 5;
$table->add(new => 6);
$table->merge(NEW => 7);
is(pairs_of($table), 'Foo=4 bar=2 new=5, 7 new=6', 'merge joins with the first value');
$table->merge(other => 8);
$table->unset('new');
delete $table->{bar};
is(pairs_of($table), 'Foo=4 other=8', 'unset and delete');

$table = table(a => 1, b => 2, A => 3);
is(join(' ', keys %$table), 'a b A', 'keys repeat');
my @seen;
while (my ($name, $value) = each %$table) { push @seen, "$name=$value" }
is("@seen", 'a=1 b=2 A=3', 'each gives every value in order');
is_deeply([values %$table], [1, 2, 3], 'so does values');
is($table->{A}, 1, 'after the loop a look-up finds the first value again');

@seen = ();
$table->do(sub { push @seen, "@_"; 1 }, 'b', 'a');
is("@seen", 'a 1 b 2', 'do with names visits only these names, and compares their case');
@seen = ();
$table->do(sub { push @seen, "@_"; 0 });
is("@seen", 'a 1', 'do stops at a false result');

my $copy = $table->copy($pool);
$copy->clear;
is(pairs_of($copy), '', 'clear');
is(pairs_of($table), 'a=1 b=2 A=3', 'a change of the copy does not change the table');
%$copy = (x => 1);
is(pairs_of($copy), 'x=1', 'list assignment');

is(pairs_of(table(a => 1, b => 2)->overlay(table(b => 3, c => 4), $pool)), 'b=3 c=4 a=1 b=2', 'overlay puts the other table in front');

$table = table(a => 1, b => 2);
$table->overlap(table(B => 3, c => 4), APR::Const::OVERLAP_TABLES_SET);
is(join(' ', sort split / /, pairs_of($table)), 'a=1 b=3 c=4', 'overlap with set');
$table = table(a => 1, b => 2);
$table->overlap(table(B => 3, c => 4), APR::Const::OVERLAP_TABLES_MERGE);
is($table->get('b'), '2, 3', 'overlap with merge');

$table = table(a => 1, b => 2, A => 3);
$table->compress(APR::Const::OVERLAP_TABLES_MERGE);
is(pairs_of($table), 'a=1, 3 b=2', 'compress with merge');
$table = table(a => 1, b => 2, A => 3);
$table->compress(APR::Const::OVERLAP_TABLES_SET);
is(pairs_of($table), 'a=3 b=2', 'compress with set');

ok(!eval { APR::Table::get(bless({}, 'Other'), 'x'); 1 }, 'another object is refused');

{
    my $kept;
    { my $short = table(k => 'v'); $kept = \$short->{k}; }
    is($$kept, 'v', 'an element outlives its table object');
}

done_testing();
