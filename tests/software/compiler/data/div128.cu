// __int128 division: nvcc 13.0 -ptx -arch=sm_75 div128.cu -o div128.ptx
typedef unsigned __int128 u;
extern "C" __global__ void udiv(unsigned long long*q,unsigned long long a1,unsigned long long a0,unsigned long long b1,unsigned long long b0){ u a=((u)a1<<64)|a0,b=((u)b1<<64)|b0; u d=a/b; q[0]=d>>64; q[1]=d; }
extern "C" __global__ void srem(long long*q,long long a1,unsigned long long a0,long long b1,unsigned long long b0){ __int128 a=((__int128)a1<<64)|a0,b=((__int128)b1<<64)|b0; __int128 d=a%b; q[0]=d>>64; q[1]=d; }
