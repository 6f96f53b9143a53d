# A Dancer2 application: routes, a template, a session, an upload, an error.
package Guestbook;
use Dancer2 appname => 'Guestbook';
set logger   => 'null';
set template => 'Tiny';
set session  => 'Simple';
set charset  => 'UTF-8';
set views    => __FILE__ =~ s{[^/]*\z}{views}r;
set layout   => undef;
hook before_template_render => sub { $_[0]{shouted} = uc($_[0]{name} // '') };

get '/'            => sub { template 'greeting', { name => query_parameters->get('name') // 'nobody' } };
get '/item/:id?'   => sub { content_type 'application/json'; encode_json([route_parameters->get('id')]) };
post '/sign'       => sub { session names => [ @{ session('names') || [] }, body_parameters->get('name') ]; redirect '/names' };
get '/names'       => sub { content_type 'text/plain'; join ', ', @{ session('names') || [] } };
post '/upload'     => sub { my $u = upload('file'); content_type 'text/plain'; join ' ', $u->filename, $u->size, $u->type };
get '/wrong'       => sub { die "an error of the application\n" };
get '/teapot'      => sub { status 418; content_type 'text/plain'; 'short and stout' };
get '/stream'      => sub {
    delayed {
        content_type 'text/plain';
        flush;
        content "piece $_\n" for 1 .. 3;
        done;
    };
};
Guestbook->to_app;
