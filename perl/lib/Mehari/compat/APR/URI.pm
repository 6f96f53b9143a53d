package APR::URI;

# Takes a URI apart. Each part has a method that returns the old value and sets a new value.

use strict;
use warnings;

my %PORTS = (
    ftp => 21, ssh => 22, telnet => 23, gopher => 70, http => 80, pop => 110, nntp => 119, imap => 143, prospero => 191,
    wais => 210, ldap => 389, https => 443, rtsp => 554, snews => 563, acap => 674, nfs => 2049, tip => 3372, sip => 5060,
);

for my $part (qw(scheme hostinfo user password hostname port path query fragment)) {
    my $field = $part eq 'port' ? 'port_text' : $part;
    no strict 'refs';
    *$part = sub {
        my $self = shift;
        my $old  = $self->{$field};
        $self->{$field} = defined $_[0] ? "$_[0]" : undef if @_;
        return $old;
    };
}

# parse($pool, $text)
sub parse {
    my ($class, $pool, $text) = @_;
    my %part;
    @part{qw(scheme hostinfo path query fragment)}
        = $text =~ m{\A(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?\#]*))?([^?\#]*)(?:\?([^\#]*))?(?:\#(.*))?\z}s;
    $part{path} = undef if defined $part{path} && $part{path} eq '';
    # As in APR, an invalid host or port ends the parsing. Only the parts before it are set.
    _authority(\%part) or @part{qw(path query fragment)} = () if defined $part{hostinfo};
    return bless \%part, ref $class || $class;
}

sub _authority {
    my ($part) = @_;
    my ($login, $host) = $part->{hostinfo} =~ /\A(?:(.*)\@)?(.*)\z/s;
    @$part{qw(user password)} = split /:/, $login, 2 if defined $login;
    # The brackets around an IPv6 address belong to the URI and not to the address.
    my ($address, $name, $port) = $host =~ /\A(?:\[([^\]]*)\]|([^\[:][^:]*|(?!\[)))(?::(.*))?/s or return 0;
    @$part{qw(hostname port_text)} = ($address // $name, $port);
    return !length($port // '') || $port =~ /\A\d+\z/;
}

sub port_of_scheme {
    my $scheme = @_ > 1 ? $_[1] : $_[0];
    return $PORTS{ lc(defined $scheme ? $scheme : '') } || 0;
}

# Returns the path before the script's `path_info`, if `path_info` is known.
sub rpath {
    my ($self) = @_;
    my ($path, $info) = ($self->{path}, $self->{path_info});
    return $path unless defined $path && defined $info && length $info;
    return substr $path, 0, length($path) - length $info;
}

# Returns the whole URI, without the parts that the flags APR::Const::URI_UNP_* name. Without flags,
# the password is left out.
sub unparse {
    my ($self, $flags) = @_;
    $flags = 4 unless defined $flags;
    my $text = $flags & 1 ? '' : $self->_site($flags);
    return $text if $flags & 16;
    $text .= defined $self->{path} ? $self->{path} : '';
    return $text if $flags & 32;
    $text .= "?$self->{query}"    if defined $self->{query};
    $text .= "#$self->{fragment}" if defined $self->{fragment};
    return $text;
}

sub _site {
    my ($self, $flags) = @_;
    my $text = '';
    if (defined $self->{hostname}) {
        $text = defined $self->{user} && !($flags & 2) ? $self->{user} : '';
        $text .= ':' . ($flags & 8 ? $self->{password} : 'XXXXXXXX') if defined $self->{password} && !($flags & 4);
        $text .= '@' if length $text;
        $text .= $self->{hostname} =~ /:/ ? "[$self->{hostname}]" : $self->{hostname};
        my $usual = $PORTS{ lc($self->{scheme} || '') };
        $text .= ":$self->{port_text}" if ($self->{port_text} // '') =~ /\A\d+\z/ && !($usual && $usual == $self->{port_text});
        $text = "//$text";
    }
    return defined $self->{scheme} ? "$self->{scheme}:$text" : $text;
}

1;

__END__

=head1 NAME

APR::URI - a URI in its parts

=head1 SYNOPSIS

    use APR::URI ();
    my $uri = APR::URI->parse(undef, 'http://ann@example.org:8080/a?b=c#d');
    print $uri->hostname, ' ', $uri->port, "\n";
    $uri->path('/other');
    print $uri->unparse;

=head1 DESCRIPTION

Each part has a method that returns the old value, or undef, and sets a new value.

=head1 METHODS

=over 4

=item parse(POOL, TEXT)

A class method. Returns the object for the URI in a text.

=item scheme([TEXT]), hostinfo([TEXT]), user([TEXT]), password([TEXT]), hostname([TEXT]),
port([NUMBER]), path([TEXT]), query([TEXT]), fragment([TEXT])

Return or set a part.

=item rpath

Returns the path before C<path_info>, for the URI of a request.

=item unparse([FLAGS])

Returns the whole URI, without the parts that the constants C<URI_UNP_*> of L<APR::Const> name.
Without FLAGS, the password is left out. The usual port of the scheme is always left out.

=back

=head1 FUNCTIONS

=over 4

=item port_of_scheme(SCHEME)

Returns the usual port of the scheme, or 0.

=back

=head1 DIFFERENCES

C<parse> takes any text and reports no error.

=head1 SEE ALSO

L<Apache2::URI>, L<APR::Const>, L<Apache::URI>.

=cut
