#!/usr/bin/perl
# Tests how Mehari::PSGI loads the application of a file.

use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;

BEGIN { require "$FindBin::Bin/psgi.pl" }
use Mehari;
use Mehari::PSGI;

my $folder = tempdir(CLEANUP => 1);

sub file_of {
    my ($name, $text) = @_;
    open my $out, '>', "$folder/$name" or die "$name: $!";
    print {$out} $text;
    close $out;
    return "$folder/$name";
}

sub reason_of {
    my ($file) = @_;
    return eval { Mehari::PSGI::load($file); 1 } ? 'it loads' : $@;
}

subtest 'code reference is the application' => sub {
    my $app = Mehari::PSGI::load(file_of('code.psgi', 'sub { "called with @_" }'));
    is $app->(1, 2), 'called with 1 2';
};

subtest 'object with to_app is asked for its application' => sub {
    my $app = Mehari::PSGI::load(file_of('object.psgi', 'package Made; sub to_app { my $self = shift; sub { "by $$self" } } bless \(my $name = "Made")'));
    is $app->(), 'by Made';
};

subtest 'object with an overloaded &{} is called' => sub {
    my $app = Mehari::PSGI::load(file_of('overloaded.psgi', 'package Callable; use overload "&{}" => sub { sub { "overloaded" } }; bless {}'));
    is $app->(), 'overloaded';
};

subtest 'file is evaluated in its own package, as a program without arguments' => sub {
    local @ARGV = ('--not', 'for the application');
    my $file = file_of('world.psgi', 'my @world = (__FILE__, $0, scalar @ARGV, __PACKAGE__); sub { @world }');
    my ($name, $program, $arguments, $package) = Mehari::PSGI::load($file)->();
    is $name,      $file;
    is $program,   $file;
    is $arguments, 0;
    like $package, qr/\APlack::Sandbox::.*world_2epsgi\z/;
    isnt $0, $file, '$0 is set only while the file is loaded';
};

subtest 'pragmas and names of the loader do not reach the file' => sub {
    my $app = Mehari::PSGI::load(file_of('lax.psgi', '$undeclared = 1; sub { defined $file ? "sees the loader" : "alone" }'));
    is $app->(), 'alone';
};

subtest 'file that makes perl enlarge its stack is loaded' => sub {
    my $app = Mehari::PSGI::load(file_of('tall.psgi', 'my @many = map { $_ } 1 .. 500_000; sub { scalar @many }'));
    is ref $app, 'CODE';
    is $app->(), 500_000;
};

subtest 'file that is not changed is loaded once' => sub {
    my $file = file_of('count.psgi', '$main::loads++; sub { $main::loads }');
    Mehari::PSGI::load($file) for 1 .. 3;
    is Mehari::PSGI::load($file)->(), 1;
};

subtest 'changed file is not loaded again in the same process' => sub {
    my $file = file_of('change.psgi', 'sub { "old" }');
    is Mehari::PSGI::load($file)->(), 'old';
    file_of('change.psgi', 'sub { "newer" }');
    is Mehari::PSGI::load($file)->(), 'old';
};

subtest 'result that is no application is refused with its kind' => sub {
    my $expected = qr/expected an application: a code reference or an object with to_app\n\z/;
    like reason_of(file_of('text.psgi',   '"a text"')),            qr/text\.psgi ends with "a text"; $expected/;
    like reason_of(file_of('hash.psgi',   '+{}')),                 qr/hash\.psgi ends with a reference to HASH; $expected/;
    like reason_of(file_of('empty.psgi',  'undef')),               qr/empty\.psgi ends with undef; $expected/;
    like reason_of(file_of('other.psgi',  'bless [], "Nothing"')), qr/other\.psgi ends with an object of class Nothing; $expected/;
};

subtest 'file that does not compile is refused with perl\'s message' => sub {
    like reason_of(file_of('syntax.psgi', "sub {\n  1 +\n")),       qr/syntax error at \S+syntax\.psgi line \d/;
    like reason_of(file_of('dies.psgi',   "\ndie 'on purpose'")),   qr/on purpose at \S+dies\.psgi line 2/;
    like reason_of("$folder/missing.psgi"),                         qr/missing\.psgi: No such file or directory/;
    like reason_of(file_of('module.psgi', 'use No::Such::Module')), qr/Can't locate No.Such.Module\.pm/;
};

subtest 'file that failed is loaded again when it has changed' => sub {
    my $file = file_of('mended.psgi', 'die "broken\n"');
    is reason_of($file), "broken\n";
    file_of('mended.psgi', 'sub { "mended" }');
    is Mehari::PSGI::load($file)->(), 'mended';
};

done_testing;
