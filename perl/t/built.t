# Tests that a Perl side built for another perl is refused with one line that names both perls.
use strict;
use warnings;
use Config;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Test::More;

# Loads a module where the file `sources` says that the Perl side was built for this perl. Returns
# the status and the output.
sub said {
    my ($module, $built) = @_;
    my $folder = tempdir(CLEANUP => 1);
    make_path("$folder/auto/Mehari");
    open my $out, '>', "$folder/auto/Mehari/sources" or die "$folder: $!";
    print $out "0123456789abcdef\n$built\n";
    close $out;
    my @words = ($^X, (map { "-I$_" } $folder, @INC), '-e', "require $module; print qq(loaded\\n)");
    open my $output, '-|', 'sh', '-c', 'exec "$0" "$@" 2>&1', @words or die "sh: $!";
    my $text = join '', <$output>;
    close $output;
    return ($?, $text);
}

my $this = "perl $Config{version} ($Config{archname})";
for my $module (qw(Mehari Mehari::State)) {
    my ($status, $text) = said($module, $this);
    is($status, 0, "$module: a build for this perl loads") or diag $text;
    for my $other ('perl 5.8.9 (' . $Config{archname} . ')', "perl $Config{version} (another-machine)") {
        ($status, $text) = said($module, $other);
        isnt($status, 0, "$module: a build for $other is refused");
        like($text, qr/^mehari: the Perl side in \S+ was built for \Q$other\E, and \Q$^X\E is \Q$this\E: build it for this perl with /, 'the first line names both');
    }
}

done_testing;
