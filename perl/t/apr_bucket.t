# Tests buckets and brigades without a server. This file also passes with mod_perl's own modules:
# `perl -MAPR t/apr_bucket.t`.

use strict;
use warnings;
use Test::More;
use APR::Brigade     ();
use APR::Bucket      ();
use APR::BucketAlloc ();
use APR::BucketType  ();
use APR::Pool        ();

my $pool  = APR::Pool->new;
my $alloc = APR::BucketAlloc->new($pool);

sub text { my ($bucket) = @_; my $length = $bucket->read(my $text); return "$length:$text" }

sub whole { my ($brigade) = @_; my $length = $brigade->flatten(my $text); return "$length:$text" }

{
    my $data   = 'foobartar';
    my $bucket = APR::Bucket->new($alloc, $data);
    isa_ok($bucket, 'APR::Bucket');
    is($bucket->type->name, 'mod_perl SV bucket', 'type');
    is($bucket->length, 9, 'length');
    is(text($bucket), '9:foobartar', 'read');
    my $part = APR::Bucket->new($alloc, $data, 3);
    is(text($part), '6:bartar', 'from an offset');
    is($part->start, 3, 'start');
    is(text(APR::Bucket->new($alloc, $data, 3, 3)), '3:bar', 'offset and length');
    ok(!eval { APR::Bucket->new($alloc, $data, 3, 10); 1 }, 'a length beyond the data is refused');
    like($@, qr/the length argument can't be bigger than the total/, 'says so');
    substr $data, 0, 3, 'FOO';
    is(text($bucket), '9:FOObartar', 'a bucket refers to the variable');
    is($bucket->setaside($pool), 0, 'setaside');
    $data = 'something';
    is(text($bucket), '9:FOObartar', 'data that were set aside do not change');
    $bucket->remove;
    $bucket->destroy;
}
{
    my $made = sub { APR::Bucket->new($alloc, lc shift) };
    is(join(' ', map { text($_) } map { $made->($_) } 'ABCD', 'EF'), '4:abcd 2:ef', 'temporary values are copied');
}
{
    my ($end, $flush) = (APR::Bucket::eos_create($alloc), APR::Bucket::flush_create($alloc));
    is(join(' ', $end->type->name, $end->length, text($end), $flush->type->name), 'EOS 0 0: FLUSH', 'marks');
    my $brigade = APR::Brigade->new($pool, $alloc);
    ok($brigade->is_empty, 'empty');
    is($brigade->first, undef, 'no first');
    is($brigade->last,  undef, 'no last');
    my @data = map { APR::Bucket->new($alloc, $_) } 'one', 'two';
    $brigade->insert_head($data[0]);
    $data[0]->insert_after($data[1]);
    $data[1]->insert_before($flush);
    $brigade->insert_tail($end);
    my ($bucket, @row) = ($brigade->first);
    while ($bucket) { push @row, $bucket->is_eos ? 'end' : $bucket->is_flush ? 'flush' : text($bucket); $bucket = $brigade->next($bucket) }
    is("@row", '3:one flush 3:two end', 'buckets are in order');
    ok($brigade->last->is_eos, 'last');
    is(text($brigade->prev($brigade->last)), '3:two', 'prev returns the bucket before');
    is($brigade->prev($brigade->first), undef, 'prev returns undef for the first bucket');
    $brigade->first->delete while !$brigade->is_empty;
    ok($brigade->is_empty, 'deleted');
}
{
    my ($one, $two) = map { APR::Brigade->new($pool, $alloc) } 1, 2;
    $one->insert_head(APR::Bucket->new($alloc, '11'));
    $one->insert_tail(APR::Bucket->new($alloc, '12'));
    $two->insert_head(APR::Bucket->new($alloc, '21'));
    $two->insert_tail(APR::Bucket->new($alloc, '22'));
    $one->concat($two);
    is($one->length, 8, 'length of all');
    is(whole($one), '8:11122122', 'concat and flatten');
    ok($two->is_empty, 'concat empties the other brigade');
    my $rest = $one->split($one->next($one->first));
    is(join(' ', whole($one), whole($rest)), '2:11 6:122122', 'split');
    is($rest->flatten(my $some, 3), 3, 'flatten with a length returns this length');
    is($some, '122', 'flatten with a length puts the first bytes into the buffer');
    ok(!eval { $rest->flatten; 1 }, 'flatten without a buffer is refused');
    like($@, qr/usage: \$bb->flatten/, 'and says so');
    isa_ok($rest->pool, 'APR::Pool');
    $rest->destroy;
}
$alloc->destroy;
done_testing;
