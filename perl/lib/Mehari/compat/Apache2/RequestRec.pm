package Apache2::RequestRec;

# `$r`. The common methods are XS (Mehari.xs, xs/api). This module adds the rest, and finds methods
# whose modules are not loaded yet.

use strict;
use warnings;
use Mehari ();

our $AUTOLOAD;

my %NUMBER;
@NUMBER{qw(GET PUT POST DELETE CONNECT OPTIONS TRACE PATCH PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK)} = 0 .. 14;
$NUMBER{HEAD} = 0;

# A setter returns the old number. The numbers of registered methods follow those of HTTP's.
sub method_number {
    my $self  = shift;
    my $slots = $self->_slots;
    my $old   = $slots->{method_number} // $NUMBER{ $self->method } // _registered($self->method) // 26;
    $slots->{method_number} = $_[0] if @_;
    return $old;
}

sub _registered { my ($method) = @_; return Apache2::ServerRec->can('method_register') ? Apache2::ServerRec::number_of_method($method) : undef }

# 1001 for HTTP/1.1
sub proto_num { my ($self) = @_; return $self->protocol =~ m{HTTP/(\d+)(?:\.(\d+))?} ? $1 * 1000 + ($2 || 0) : 1000 }

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
    my $old  = $self->_slots->{content_languages} || [];
    if (@_) {
        ref $_[0] eq 'ARRAY' or do { require Carp; Carp::croak('Not an array reference') };
        $self->_slots->{content_languages} = $_[0];
        $self->headers_out->set('Content-Language' => join ',', @{ $_[0] || [] });
    }
    return $old;
}

sub useragent_ip   { my ($self) = @_; return $self->client_ip }
sub useragent_addr { my ($self) = @_; return $self->connection->client_addr }

# Storage for Apache's C modules, which do not exist here.
sub request_config { my ($self) = @_; return bless [$self], 'Apache2::ConfVector' }
sub per_dir_config { my ($self) = @_; return bless [$self], 'Apache2::ConfVector' }

sub allowed_methods  { my ($self) = @_; return bless [$self->allowed], 'Apache2::MethodList' }
sub allowed_xmethods { return undef }

sub TIEHANDLE { my ($class, $self) = @_; return ref $class ? $class : $self }
sub READ { my $self = shift; $self->read(@_) }

# The object holds only a number, so nothing has to be freed.
sub DESTROY { return }

# The filters of the request, the first one first. Those of the protocol follow Perl's.
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

A handler gets the request as its argument. Most methods are compiled. A method whose module is
not loaded is found, and its module is loaded, so C<use> lines for C<Apache2::*> are optional
here.

A method that gets and sets returns the old value. An object that is a hash with a key C<r> or
C<_r> may stand for the request, as subclasses of C<Apache2::RequestRec> have it.

=head1 METHODS

=over 4

=item uri([URI])

The path of the request, decoded, without the query. A PerlTransHandler may set it.

=item unparsed_uri([TEXT])

The target as the client sent it.

=item args([QUERY])

The query as sent, or undef.

=item path_info([PATH])

The part of the path behind the file.

=item filename([FILE])

The file that the path means. It need not exist. If no Perl handler responds, the server sends
this file.

=item finfo([FINFO])

An L<APR::Finfo> of the file. Its type is FILETYPE_NOFILE if there is no file.

=item method([NAME]), method_number([NUMBER])

The method and its C<M_*> number. M_INVALID is the number of an unknown method.

=item the_request([LINE])

The request line.

=item protocol([TEXT])

The protocol, such as C<HTTP/1.1>.

=item proto_num

The protocol as a number: 1001 is HTTP/1.1.

=item hostname([NAME])

The name that the client asked for.

=item header_only

True for HEAD.

=item assbackwards([FLAG]), no_local_copy([FLAG]), proxyreq([NUMBER]), used_path_info([NUMBER])

Numbers that are 0 until a program sets them.

=item headers_in

The fields of the request, an L<APR::Table>.

=item headers_out

The fields of the response. An error page does not send them.

=item err_headers_out

Fields that are sent with every response, errors too.

=item notes([NAME, [VALUE]])

Without a name, a table of texts for the handlers of this request. With a name, the value, and
undef as a new value removes it.

=item subprocess_env([NAME, [VALUE]])

The table of the variables for programs. In void context without arguments it fills C<%ENV>.
With a name, the value.

=item content_type([TYPE]), content_encoding([CODING])

Fields of the response. Setting the type tells the server that no header block is printed.

=item content_languages([ARRAY])

The languages of the response, an array reference. Dies for anything else.

=item status([NUMBER])

The status of the response, 200 at first. Dies unless the new one is from 200 to 599.

=item status_line([TEXT])

A status with words of its own, such as C<404 Gone fishing>.

=item handler([NAME])

The name of SetHandler. Dies in the response phase at a change between C<modperl> and
C<perl-script>.

=item user([NAME]), ap_auth_type([TYPE])

The authenticated user and how the user was authenticated. Both reach the access log and
programs.

=item mtime([SECONDS])

The time of the last change, in seconds since 1970; 0 at first. See also C<update_mtime>.

=item allowed([BITS]), allowed_methods

The bits of the methods for the Allow field.

=item allowed_xmethods, request_config

Always undef.

=item bytes_sent

Bytes of the body written so far; in a PerlLogHandler, those of the response that the server has
sent.

=item request_time

Seconds since 1970.

=item client_ip, useragent_ip

The address of the client as text.

=item useragent_addr

The same as an L<APR::SockAddr>.

=item connection, server, pool

The L<Apache2::Connection>, L<Apache2::ServerRec> and L<APR::Pool> of the request.

=item per_dir_config

For C<Apache2::Module::get_config>: the sections of the request.

=item main, prev, next

The request around a sub-request; the request before an internal redirect; the request after it.
undef if there is none.

=item input_filters, output_filters, proto_input_filters, proto_output_filters

A place among the filters, with C<get_brigade>, C<pass_brigade>, C<fflush>, C<next> and C<frec>.

=back

=head1 ERRORS

Every method dies if the request has ended, in a thread that the program has started, and for an
argument that is no request.

=head1 DIFFERENCES

C<request_time> is the time of its first call in a request. C<args> is undef, not empty, for a
URL that ends with C<?>. C<unparsed_uri>, C<hostname> and other facts are those that the front
read; C<headers_out> after the head was sent has no effect. C<request_config> is undef, because
no C module of Apache can store anything. F<docs/reference/modperl-behaviours.md> compares each
method with mod_perl.

=head1 SEE ALSO

L<Apache2::RequestUtil>, L<Apache2::RequestIO>, L<Apache2::Response>, L<Apache2::Access>,
L<Apache2::Log>, L<Apache2::SubRequest>, L<APR::Table>, F<docs/reference/modperl.md>,
F<docs/reference/phases.md>.

=cut
