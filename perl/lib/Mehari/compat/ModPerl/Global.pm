package ModPerl::Global;

# Lists of subs by package. `END` holds the END blocks of a registered package, in the order of
# compilation. They run only on request.

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

END blocks of a registered package run when they are called for, and not at the end of perl.

=head1 FUNCTIONS

=over 4

=item special_list_register(LIST, PACKAGE)

Begins to keep the blocks of a package. Returns 1.

=item special_list_add(LIST, PACKAGE, SUBS)

Adds subs. Returns 1.

=item special_list_call(LIST, PACKAGE)

Calls the subs in the order of compilation. Returns 1, or 0 if the package is not registered.

=item special_list_clear(LIST, PACKAGE)

Forgets the subs. Returns 1, or 0 if the package is not registered.

=back

=head1 DIFFERENCES

Only the list C<END> collects anything by itself.

=head1 SEE ALSO

L<ModPerl::RegistryCooker>.

=cut
