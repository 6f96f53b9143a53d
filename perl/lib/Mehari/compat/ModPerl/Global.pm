package ModPerl::Global;

# Keeps lists of subs by package. The list `END` holds the END blocks of a registered package, in
# the order of compilation. These blocks run only when special_list_call is called.

use strict;
use warnings;
use Mehari ();

my %lists;

sub special_list_register { my ($name, $package) = @_; $lists{$name}{$package} ||= []; return 1 }

sub special_list_add { my ($name, $package, @code) = @_; push @{ $lists{$name}{$package} }, @code; return 1 }

sub special_list_call {
    my ($name, $package) = @_;
    my $list = _list($name, $package) or return 0;
    $_->() for @$list;
    return 1;
}

sub special_list_clear {
    my ($name, $package) = @_;
    my $list = _list($name, $package) or return 0;
    @$list = ();
    return 1;
}

sub _list {
    my ($name, $package) = @_;
    my $list = $lists{$name}{$package} or return undef;
    push @$list, Mehari::take_ends($package) if $name eq 'END';
    return $list;
}

1;

__END__

=head1 NAME

ModPerl::Global - lists of END blocks by package

=head1 SYNOPSIS

    use ModPerl::Global ();
    ModPerl::Global::special_list_register(END => 'My::Script');
    eval 'package My::Script; END { print "over\n" }';
    ModPerl::Global::special_list_call(END => 'My::Script');

=head1 DESCRIPTION

END blocks of a registered package run when C<special_list_call> is called, and not when perl ends.

=head1 FUNCTIONS

=over 4

=item special_list_register(LIST, PACKAGE)

Registers a package: its blocks are kept from now on. Returns 1.

=item special_list_add(LIST, PACKAGE, SUBS)

Adds subs. Returns 1.

=item special_list_call(LIST, PACKAGE)

Calls the subs in the order of compilation. Returns 1, or 0 if the package is not registered.

=item special_list_clear(LIST, PACKAGE)

Forgets the subs. Returns 1, or 0 if the package is not registered.

=back

=head1 DIFFERENCES

Only the list C<END> collects subs by itself. Other lists contain what C<special_list_add> adds.

=head1 SEE ALSO

L<ModPerl::RegistryCooker>.

=cut
