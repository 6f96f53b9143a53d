# For the tests here: puts the compiled side for this perl into @INC (what `make` left in blib, or what
# build.pl makes), and starts servers.

use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);

my $source = abs_path(dirname(__FILE__) . '/..');

if (-e "$source/blib/arch/auto/Mehari/Mehari.so") {
    unshift @INC, "$source/blib/lib", "$source/blib/arch";
}
else {
    chomp(my @folders = qx($^X $source/build.pl));
    die "the compiled side cannot be built\n" if $? || @folders != 2;
    unshift @INC, @folders;
}

1;
