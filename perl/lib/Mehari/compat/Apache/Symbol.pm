package Apache::Symbol;

use strict;
use warnings;
use ModPerl::Util ();

# undef_functions($package) deletes the subs and the variables of a package.
sub undef_functions { my ($class, $package) = @_; ModPerl::Util::unload_package($package); return }

1;

__END__

=head1 NAME

Apache::Symbol - empty a package

=head1 SYNOPSIS

    use Apache::Symbol ();
    Apache::Symbol->undef_functions('My::Old');

=head1 DESCRIPTION

The module is for programs that unload packages.

=head1 CLASS METHODS

=over 4

=item undef_functions(PACKAGE)

Does the same as C<ModPerl::Util::unload_package>.

=back

=head1 DIFFERENCES

Variables are deleted too.

=head1 SEE ALSO

L<ModPerl::Util>.

=cut
