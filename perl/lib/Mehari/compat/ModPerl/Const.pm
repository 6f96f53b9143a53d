package ModPerl::Const;

# Defines mod_perl's constants.

use strict;
use warnings;
use Mehari::Constants ();

Mehari::Constants::define(__PACKAGE__, <<'GROUPS');
common: EXIT=120000
GROUPS

# Programs use the constant by the name `ModPerl::EXIT`.
sub ModPerl::EXIT () { 120000 }

sub import { my $class = shift; Mehari::Constants::import_into(__PACKAGE__, scalar caller, @_); return }

# compile(NAMES) checks the names. compile(PACKAGE => NAMES) exports the constants into a package.
sub compile {
    my ($class, @words) = @_;
    my $package = @words > 1 && $words[0] =~ /::/ ? shift @words : undef;
    return defined $package ? Mehari::Constants::import_into(__PACKAGE__, $package, @words) : Mehari::Constants::import_into(__PACKAGE__, undef, -compile => @words);
}

1;

__END__

=head1 NAME

ModPerl::Const - mod_perl's constants

=head1 SYNOPSIS

    use ModPerl::Const -compile => qw(:common);
    my $is_exit = sub { ref $_[0] && $_[0] == ModPerl::EXIT };

=head1 DESCRIPTION

There is one constant, EXIT, in the group C<:common>. It is the number of the exception that
C<ModPerl::Util::exit> throws. Programs usually write C<ModPerl::EXIT>.

=head1 CLASS METHODS

=over 4

=item compile([PACKAGE], NAMES)

Does the same as C<compile> of L<Apache2::Const>.

=back

=head1 DIFFERENCES

None is known.

=head1 SEE ALSO

L<ModPerl::Util>, L<Apache2::Const>.

=cut
