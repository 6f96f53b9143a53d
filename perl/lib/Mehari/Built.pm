package Mehari::Built;

use strict;
use warnings;
use Config;

# Dies unless the compiled part of the Perl side was built for the running perl. Otherwise perl
# would speak of handshake keys or missing symbols. Makefile.PL writes the file `sources`: its first
# line is the name of the build, its second line the perl.
my ($arch) = grep { !ref && -e "$_/auto/Mehari/sources" } @INC;
if (defined $arch && open my $in, '<', "$arch/auto/Mehari/sources") {
    my (undef, $built) = map { s/\s+\z//r } <$in>;
    my $this = this_perl();
    die "mehari: the Perl side in $arch was built for $built, and $^X is $this: build it for this perl with build.pl\n"
        if defined $built && $built ne $this;
}

sub this_perl { return "perl $Config{version} ($Config{archname})" }

1;

__END__

=head1 NAME

Mehari::Built - checks that the Perl side was built for the running perl

=head1 SYNOPSIS

    require Mehari::Built;

=head1 DESCRIPTION

The compiled modules of Mehari load this module first. If they were built for a perl of another
version or architecture, this module dies with a line that names both perls.

=cut
