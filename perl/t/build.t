# Tests what build.pl prints and leaves when a build fails or is interrupted.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Test::More;

my $source = abs_path(dirname(__FILE__) . '/..');

# Runs build.pl with this program as Makefile.PL. Returns the status, the output, and the number of
# builds that are marked as complete.
sub said {
    my ($program) = @_;
    my $folder = tempdir(CLEANUP => 1);
    copy("$source/$_", "$folder/$_") or die "$folder: $!" for qw(build.pl sources.pl);
    open my $out, '>', "$folder/Makefile.PL" or die "$folder: $!";
    print $out $program;
    close $out;
    my $text = qx($^X $folder/build.pl 2>&1);
    return ($?, $text, scalar grep { -e } glob "$folder/build/*/built");
}

for my $signal (qw(INT TERM HUP)) {
    my ($status, $text, $built) = said("kill $signal => getppid; sleep 20");
    isnt($status, 0, "SIG$signal ends the build");
    like($text, qr/^mehari: the build of the Perl side for \S+ was interrupted \(SIG$signal\)$/m, 'the message names the signal');
    is($built, 0, 'no build is marked as complete');
}

my ($status, $text) = said('$| = 1; print "the compiler speaks\n"; kill KILL => $$; sleep 20');
isnt($status, 0, 'a command that is killed ends the build');
like($text, qr/^the compiler speaks\n.*^mehari: .* was interrupted \(signal 9 to `/ms, 'the command\'s earlier output comes first');

($status, $text) = said('die "no compiler\n"');
isnt($status, 0, 'a command that fails ends the build');
like($text, qr/^no compiler\n.*^mehari: `.*` failed in /ms, 'the command\'s output comes first');
unlike($text, qr/interrupted/, 'the message speaks of no interruption');

done_testing;
