package Apache2::RequestRec;

# Is the class of `$r`. The common methods are XS (Mehari.xs, xs/api). This module adds the other
# methods, and loads the modules of methods that are not loaded yet.

use strict;
use warnings;
use Mehari ();

our $AUTOLOAD;

my %NUMBER;
@NUMBER{qw(GET PUT POST DELETE CONNECT OPTIONS TRACE PATCH PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK)} = 0 .. 14;
$NUMBER{HEAD} = 0;

# Returns the number of the method, and sets it. As in Apache, `method` does not change the number.
# Methods that a site has registered have numbers after those of HTTP's methods.
sub method_number {
    my $self  = shift;
    my $slots = $self->_slots;
    my $asked = $self->_numbered_method;
    my $old   = $slots->{method_number} // $NUMBER{$asked} // _registered($asked) // 26;
    $slots->{method_number} = $_[0] if @_;
    return $old;
}

sub _registered { my ($method) = @_; return Apache2::ServerRec->can('method_register') ? Apache2::ServerRec::number_of_method($method) : undef }

# Returns the protocol as a number, such as 1001 for HTTP/1.1. A sub-request has 0.
sub proto_num { my ($self) = @_; return $self->protocol =~ m{HTTP/(\d+)(?:\.(\d+))?} ? $1 * 1000 + ($2 || 0) : $self->main ? 0 : 1000 }

sub request_time { my ($self) = @_; return $self->_slots->{request_time} //= time }

sub finfo {
    my $self = shift;
    require APR::Finfo;
    my $slots = $self->_slots;
    my $old   = $slots->{finfo} ||= APR::Finfo->of_file($slots->{'file of finfo'} // $self->filename);
    $slots->{finfo} = $_[0] if @_;
    return $old;
}

sub content_languages {
    my $self = shift;
    my $old  = $self->_slots->{content_languages} || [split /,/, $self->_languages];
    if (@_) {
        ref $_[0] eq 'ARRAY' or do { require Carp; Carp::croak('Not an array reference') };
        $self->_slots->{content_languages} = $_[0];
    }
    return $old;
}

sub useragent_ip   { my ($self) = @_; return $self->client_ip }
sub useragent_addr { my ($self) = @_; return $self->connection->client_addr }

# Stand for the storage of Apache's C modules, which do not exist here. Apache2::Module::get_config
# takes `per_dir_config` as an argument.
sub request_config { my ($self) = @_; return bless [$self], 'Apache2::ConfVector' }
sub per_dir_config { my ($self) = @_; return bless [$self], 'Apache2::ConfVector' }

sub allowed_methods  { my ($self) = @_; return bless [$self->allowed], 'Apache2::MethodList' }
sub allowed_xmethods { return undef }

sub TIEHANDLE { my ($class, $self) = @_; return ref $class ? $class : $self }
sub READ { my $self = shift; $self->read(@_) }

# Exists so that AUTOLOAD is not called for it. The object holds only a number, so nothing is freed.
sub DESTROY { return }

# Return the first filter of the request, or the first filter of the server itself, which comes
# after Perl's filters.
sub input_filters        { return _place($_[0], 'input',  0) }
sub output_filters       { return _place($_[0], 'output', 0) }
sub proto_input_filters  { return _place($_[0], 'input',  0, 'of_server') }
sub proto_output_filters { return _place($_[0], 'output', 0, 'of_server') }

sub _place {
    my ($self, $way, $number, $maker) = (@_, 'of');
    require Apache2::Filter::Place;
    return Apache2::Filter::Place->$maker($self, $way, $number);
}

# Loads the module of a method, as if the configuration had named the module.
sub AUTOLOAD {
    my ($name) = $AUTOLOAD =~ /([^:]+)\z/;
    require ModPerl::MethodLookup;
    my $module = ModPerl::MethodLookup::module_of($name, qr/\AApache2::(?!Server|Connection|Directive|Filter\z|Module|CmdParms|Command|Process)/);
    if ($module) {
        require(($module =~ s{::}{/}gr) . '.pm');
        my $code = __PACKAGE__->can($name);
        goto &$code if $code && $code != \&AUTOLOAD;
    }
    require Carp;
    my $class = ref $_[0] || $_[0];
    Carp::croak(qq{Can't locate object method "$name" via package "$class"});
}

1;

__END__

=head1 NAME

Apache2::RequestRec - the request, $r

=head1 SYNOPSIS

    use Apache2::RequestRec ();
    use Apache2::RequestIO ();
    use Apache2::Const -compile => qw(OK);

    sub handler {
        my $r = shift;
        $r->content_type('text/plain');
        $r->headers_out->set('X-Served-By' => 'My::Handler');
        $r->print('You asked ', $r->hostname, ' for ', $r->uri, "\n");
        return Apache2::Const::OK;
    }

=head1 DESCRIPTION

A handler gets the request as its argument. If a program calls a method whose module is not loaded,
the module is loaded. With Mehari, C<use> lines for C<Apache2::*> are therefore optional.

A method that gets and sets a value returns the old value. An object that is a hash with a key C<r>
or C<_r> may stand for the request. Subclasses of C<Apache2::RequestRec> are often such hashes.

=head1 METHODS

=over 4

=item uri([URI])

Gets or sets the path of the request, decoded and without the query. A PerlTransHandler may set it.

=item unparsed_uri([TEXT])

Gets or sets the request target as the client sent it.

=item args([QUERY])

Gets or sets the query as the client sent it. Without a query it is undef.

=item path_info([PATH])

Gets or sets the part of the path after the file.

=item filename([FILE])

Gets or sets the file to which the path leads. The file need not exist. If no Perl handler responds,
the server sends this file.

=item finfo([FINFO])

Gets or sets the L<APR::Finfo> of the file. If there is no file, its type is FILETYPE_NOFILE.

=item method([NAME]), method_number([NUMBER])

Get or set the method and its number C<M_*>. The number of an unknown method is M_INVALID.

=item the_request([LINE])

Gets or sets the request line.

=item protocol([TEXT])

Gets or sets the protocol, such as C<HTTP/1.1>.

=item proto_num

Returns the protocol as a number: 1001 is HTTP/1.1.

=item hostname([NAME])

Gets or sets the host name that the client asked for.

=item header_only

Returns true for a HEAD request.

=item assbackwards([FLAG]), no_local_copy([FLAG]), proxyreq([NUMBER]), used_path_info([NUMBER])

Get or set numbers that are 0 until a program sets them.

=item headers_in

Returns the fields of the request, an L<APR::Table>.

=item headers_out

Returns the fields of the response, an L<APR::Table>. An error page does not have these fields.

=item err_headers_out

Returns the fields that are sent with every response, error pages too, an L<APR::Table>.

=item notes([NAME, [VALUE]])

Without a NAME, it returns a table of texts for the handlers of this request. With a NAME, it gets
or sets a text. The VALUE undef removes the text.

=item subprocess_env([NAME, [VALUE]])

Without a NAME, it returns the table of the environment variables for programs, or fills C<%ENV> in
void context. With a NAME, it gets or sets a variable.

=item content_type([TYPE]), content_encoding([CODING])

Get or set the fields Content-Type and Content-Encoding of the response. A handler that sets the
type prints no header block.

=item content_languages([ARRAY])

Gets or sets the languages of the response, an array reference. Dies for any other value.

=item status([NUMBER])

Gets or sets the status of the response, which is 200 at first. Dies unless the new status is from
200 to 599.

=item status_line([TEXT])

Gets or sets the status together with a reason phrase, such as C<404 Gone fishing>.

=item handler([NAME])

Gets or sets the value of SetHandler. In the response phase it dies if the value changes from
C<modperl> to C<perl-script>, or from C<perl-script> to C<modperl>.

=item user([NAME]), ap_auth_type([TYPE])

Get or set the authenticated user, and the kind of authentication. Programs and the access log get
both.

=item mtime([SECONDS])

Gets or sets the time of the last change, in seconds since 1970. It is 0 at first. See also
C<update_mtime>.

=item allowed([BITS]), allowed_methods

Get or set the methods for the field Allow, as bits and as an object.

=item allowed_xmethods, request_config

C<allowed_xmethods> returns undef. C<request_config> returns an object without content.

=item bytes_sent

Returns the number of bytes of the body that the program has written so far. In a PerlLogHandler it
returns the number of bytes of the body that the server has sent.

=item request_time

Returns the time of the request in seconds since 1970.

=item client_ip, useragent_ip

Return the address of the client as text.

=item useragent_addr

Returns the address of the client as an L<APR::SockAddr>.

=item connection, server, pool

Return the L<Apache2::Connection>, the L<Apache2::ServerRec> and the L<APR::Pool> of the request.

=item per_dir_config

Returns the sections that apply to the request, as an argument for C<Apache2::Module::get_config>.

=item main, prev, next

C<main> returns the request that has made this sub-request. C<prev> returns the request before an
internal redirect, and C<next> the request after it. They return undef if there is no such request.

=item input_filters, output_filters, proto_input_filters, proto_output_filters

Return a place in the chain of filters. It has the methods C<get_brigade>, C<pass_brigade>,
C<fflush>, C<next> and C<frec>. The two with C<proto> return the first of the server's own filters.

=back

=head1 ERRORS

Every method dies if the request has ended, if it is called in a thread that the program has
started, or if its object is no request.

=head1 DIFFERENCES

C<request_time> is the time of the first call in a request. For a URL that ends with C<?>, C<args>
is undef and not empty. The front, the process that owns the connections, reads the request. A new
value of C<unparsed_uri>, C<hostname> and similar methods does not change what the front has read.
After the head was sent, a change of C<headers_out> has no effect. C<request_config> holds nothing,
because there are no C modules of Apache that could store anything.
F<docs/reference/modperl-behaviours.md> compares each method with mod_perl.

=head1 SEE ALSO

L<Apache2::RequestUtil>, L<Apache2::RequestIO>, L<Apache2::Response>, L<Apache2::Access>,
L<Apache2::Log>, L<Apache2::SubRequest>, L<APR::Table>, F<docs/reference/modperl.md>,
F<docs/reference/phases.md>.

=cut
