package Apache::Status;

# Shows the status pages: gives Apache2::Status its name of mod_perl 1.

use strict;
use warnings;
use Apache2::Status ();

our @ISA = ('Apache2::Status');

# Answers with a page. `?rgysubs` is mod_perl 1's name for the page of scripts.
sub handler {
    my ($r) = @_;
    $r->args($1) if ($r->args // '') =~ s/\Argysubs\b/script/r =~ /\A(script.*)/s;
    return Apache2::Status::handler($r);
}

# menu_item(name => title, code) adds a page.
sub menu_item { return Apache2::Status->menu_item(@_[1 .. $#_]) }

1;

__END__

=head1 NAME

Apache::Status - mod_perl 1's name for Apache2::Status

=head1 SYNOPSIS

    <Location /perl-status>
        SetHandler perl-script
        PerlHandler Apache::Status
        Require ip 127.0.0.1
    </Location>

=head1 DESCRIPTION

The class is an L<Apache2::Status>.

=head1 FUNCTIONS

=over 4

=item handler(R)

Answers with a page. C<?rgysubs> is the page of scripts.

=item menu_item(CLASS, NAME, TITLE, CODE)

Does the same as the method of Apache2::Status.

=back

=head1 DIFFERENCES

See L<Apache2::Status>.

=head1 SEE ALSO

L<Apache2::Status>.

=cut
