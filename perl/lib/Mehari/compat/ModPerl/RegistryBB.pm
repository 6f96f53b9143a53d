package ModPerl::RegistryBB;

# Runs a script as ModPerl::Registry does, but never checks whether the file has changed.

use strict;
use warnings;
use ModPerl::RegistryCooker ();

our @ISA = ('ModPerl::RegistryCooker');

sub handler : method {
    my $class = @_ >= 2 ? shift : __PACKAGE__;
    return $class->new(shift)->default_handler;
}

sub should_compile { return $_[0]->should_compile_once }

1;

__END__

=head1 NAME

ModPerl::RegistryBB - as ModPerl::Registry, without a look at the file

=head1 SYNOPSIS

    PerlResponseHandler ModPerl::RegistryBB

=head1 DESCRIPTION

The class is a L<ModPerl::Registry>, but a compiled script is never compiled again. In the
configuration, the name of this class replaces L<ModPerl::Registry>.

=head1 METHODS

=over 4

=item handler(R)

Runs the script of a request. Returns a status.

=item should_compile

Returns true if the script has not been compiled before.

=back

=head1 DIFFERENCES

The server itself does the work of this handler, in C, on the rung C<registry>
(L<ModPerl::Registry>). The methods are for subclasses.

=head1 SEE ALSO

L<ModPerl::Registry>, L<ModPerl::RegistryCooker>.

=cut
