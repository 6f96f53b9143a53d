package APR::Request::Cookie;

# Represents a cookie that was received or is to be sent.

use strict;
use warnings;
use APR::Table ();

use overload '""' => sub { $_[0]->as_string }, fallback => 1;

@APR::Request::Cookie::Table::ISA = ('APR::Table');

# Returns the cookies of a request as a table. The values are as the client sent them.
sub jar_of {
    my ($r) = @_;
    my $table = APR::Table::make(undef, 8);
    for my $line ($r->headers_in->get('Cookie')) {
        while ($line =~ /\G[\s;,]*([^=;,\s]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|[^;,]*))?/gc) {
            my ($name, $value) = ($1, defined $2 ? $2 =~ s/\s+\z//r : '');
            $table->add($name, $value) unless $name =~ /\A\$/;
        }
    }
    return bless $table, 'APR::Request::Cookie::Table';
}

my @ATTRIBUTES = qw(version path domain port comment commentURL expires max_age secure httponly samesite);

# new($pool, name => ..., value => ..., path => ...)
sub new {
    my ($class, undef, %given) = @_;
    return $class->_make(map { (lc($_) =~ s/\A-//r =~ tr/-/_/r) => $given{$_} } keys %given);
}

sub _make {
    my ($class, %given) = @_;
    my $self = bless { name => $given{name}, value => $class->freeze($given{value}) }, ref $class || $class;
    defined $self->{name} && length $self->{name} or die "a cookie needs a -name\n";
    for my $name (map { lc } @ATTRIBUTES) { $self->$name($given{$name}) if defined $given{$name} }
    return $self;
}

# Returns the text of a value. Subclasses also accept several values.
sub freeze { my ($class, $value) = @_; return defined $value ? "$value" : '' }

sub name  { return $_[0]{name} }
sub value { return $_[0]{value} }

for my $name (qw(version path domain port comment commenturl secure httponly samesite)) {
    no strict 'refs';
    *$name = sub { my $self = shift; my $old = $self->{$name}; $self->{$name} = $_[0] if @_; return $old };
}
*commentURL = \&commenturl;

sub is_tainted { my $self = shift; my $old = $self->{is_tainted} // 1; $self->{is_tainted} = $_[0] if @_; return $old }

# Sets the cookie's lifetime: a number of seconds, or a text such as `+3h`. Returns the old one.
sub max_age {
    my $self = shift;
    my $old  = $self->{max_age};
    $self->{max_age} = _seconds($_[0]) if @_;
    return $old;
}

sub expires {
    my $self = shift;
    my $old  = $self->{expires};
    $self->{expires} = _date($_[0]) if @_;
    return $old;
}

my %UNIT = (s => 1, m => 60, h => 3600, d => 86400, w => 604800, M => 2592000, y => 31536000, Y => 31536000);

# Returns the seconds of a text such as `+3h`, or undef if the text is no time span.
sub _seconds {
    my ($text) = @_;
    return 0 if $text eq 'now';
    return $text =~ /\A([+-]?\d+)([smhdwMyY]?)\z/ ? $1 * ($UNIT{$2} || 1) : undef;
}

my @DAYS   = qw(Sun Mon Tue Wed Thu Fri Sat);
my @MONTHS = qw(Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec);

sub _date {
    my ($text) = @_;
    my $seconds = _seconds($text);
    return $text unless defined $seconds;
    my ($second, $minute, $hour, $day, $month, $year, $weekday) = gmtime(time + $seconds);
    return sprintf '%s, %02d-%s-%d %02d:%02d:%02d GMT', $DAYS[$weekday], $day, $MONTHS[$month], $year + 1900, $hour, $minute, $second;
}

sub as_string {
    my ($self) = @_;
    my @parts = ("$self->{name}=$self->{value}");
    push @parts, "Version=$self->{version}" if $self->{version};
    push @parts, "path=$self->{path}"       if defined $self->{path};
    push @parts, "domain=$self->{domain}"   if defined $self->{domain};
    push @parts, "port=$self->{port}"       if defined $self->{port};
    push @parts, "comment=$self->{comment}" if defined $self->{comment} && $self->{version};
    push @parts, "expires=$self->{expires}" if defined $self->{expires};
    push @parts, "max-age=$self->{max_age}" if defined $self->{max_age};
    push @parts, 'secure'                   if $self->{secure};
    push @parts, 'HttpOnly'                 if $self->{httponly};
    push @parts, "SameSite=$self->{samesite}" if $self->{samesite};
    return join '; ', @parts;
}

# bake($r) sends the cookie with the response, even if the response is an error page.
sub bake { my ($self, $r) = @_; ($r || $self->{r})->err_headers_out->add('Set-Cookie', $self->as_string); return }

sub bake2 { my ($self, $r) = @_; ($r || $self->{r})->err_headers_out->add('Set-Cookie2', $self->as_string); return }

1;

__END__

=head1 NAME

APR::Request::Cookie - a cookie, received or to be sent

=head1 SYNOPSIS

    use APR::Request::Cookie ();
    my $cookie = APR::Request::Cookie->new(undef, name => 'id', value => '42', path => '/');
    $cookie->httponly(1);
    print $cookie->as_string;

=head1 DESCRIPTION

Used as a string, an object is the result of C<as_string>.

=head1 METHODS

=over 4

=item new(POOL, NAME => VALUE ...)

Returns a cookie with the attributes below. Dies without a name.

=item name, value

Return the name and the value.

=item path([TEXT]), domain([TEXT]), port([TEXT]), comment([TEXT]), commentURL([URL]),
version([NUMBER])

Set these attributes of the cookie. Return the old value.

=item secure([FLAG]), httponly([FLAG]), samesite([TEXT])

Set these attributes of the cookie. Return the old value.

=item expires([TIME])

Sets the time at which the cookie expires: a date, C<now>, or a time from now. A time from now is a
number with s, m (minutes), h, d, w, M (30 days) or y, such as C<+3M>.

=item max_age([TIME])

Sets the lifetime: a number of seconds, or a time from now as in C<expires>.

=item as_string

Returns the value for the field Set-Cookie.

=item bake(R), bake2(R)

Adds the field Set-Cookie, or Set-Cookie2, to the response, even if the response is an error page.

=item is_tainted([FLAG])

Returns a flag that is true at first, and sets it.

=item freeze(VALUE)

Returns the text of a value.

=back

=head1 DIFFERENCES

C<samesite> takes any text. A comment is sent only with a version.

=head1 SEE ALSO

L<Apache2::Cookie>, L<APR::Request>.

=cut
