# Tests the layer `:APR` without a server. This file also passes with mod_perl's own modules: `perl
# -MAPR t/apr_layer.t`.

use strict;
use warnings;
use Test::More;
use Fcntl ();
use File::Temp ();
use APR        ();
use APR::PerlIO ();
use APR::Pool  ();

my $pool   = APR::Pool->new;
my $folder = File::Temp->newdir;
my $file   = "$folder/text";
ok(APR::PerlIO::PERLIO_LAYERS_ARE_ENABLED(), 'layers are enabled');

sub opened { my ($mode) = @_; open my $handle, $mode, $file, $pool or die "$file: $!"; return $handle }

my $out = opened('>:APR');
print $out "one\n--two\n";
close $out;
is(-s $file, 10, 'written');
ok(!open(my $none, '<:APR', "$folder/none", $pool), 'a missing file cannot be opened');
is($! + 0, 2, '$! says that the file is missing');
my $in = opened('<:APR');
is(scalar <$in>, "one\n", 'a line');
seek $in, 0, Fcntl::SEEK_SET();
is(do { local $/; <$in> }, "one\n--two\n", 'all of it');
ok(eof $in, 'the end');
seek $in, 0, Fcntl::SEEK_SET();
is(join('|', do { local $/ = '--'; <$in> }), "one\n--|two\n", 'parts');
close $in;
$in = opened('<:APR');
open my $twin, '<&:APR', $in or die $!;
close $in;
is(scalar <$twin>, "one\n", 'a duplicate');
my ($writer, $reader) = (opened('>:APR'), opened('<:APR'));
select((select($writer), $| = 1)[0]);
print $writer 'at once';
is(scalar <$reader>, 'at once', 'unbuffered');
select((select($writer), $| = 0)[0]);
print $writer 'later';
is(scalar <$reader>, undef, 'buffered');
close $writer;
my $wide = opened('>:APR');
binmode $wide, ':utf8';
print $wide "\x{42f}";
close $wide;
my $back = opened('<:APR');
binmode $back, ':utf8';
is(scalar <$back>, "\x{42f}", 'characters');
done_testing;
